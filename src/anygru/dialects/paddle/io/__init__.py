"""`paddle.io`: datasets, samplers, DataLoader."""

from .dataloader.batch_sampler import BatchSampler as BatchSampler
from .dataloader.batch_sampler import DistributedBatchSampler as DistributedBatchSampler
from .dataloader.dataset import ChainDataset as ChainDataset
from .dataloader.dataset import ComposeDataset as ComposeDataset
from .dataloader.dataset import ConcatDataset as ConcatDataset
from .dataloader.dataset import Dataset as Dataset
from .dataloader.dataset import IterableDataset as IterableDataset
from .dataloader.dataset import Subset as Subset
from .dataloader.dataset import TensorDataset as TensorDataset
from .dataloader.dataset import random_split as random_split
from .dataloader.sampler import RandomSampler as RandomSampler
from .dataloader.sampler import Sampler as Sampler
from .dataloader.sampler import SequenceSampler as SequenceSampler
from .dataloader.sampler import SubsetRandomSampler as SubsetRandomSampler
from .dataloader.sampler import WeightedRandomSampler as WeightedRandomSampler
from .reader import DataLoader as DataLoader
from .reader import get_worker_info as get_worker_info
