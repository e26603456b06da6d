"""Data sets: torch's."""

from torch.utils.data import ConcatDataset as ConcatDataset
from torch.utils.data import Dataset as Dataset
from torch.utils.data import IterableDataset as IterableDataset
from torch.utils.data import Subset as Subset
from torch.utils.data import TensorDataset as TensorDataset
from torch.utils.data import random_split as random_split
