"""Orders of samples: torch's."""

from torch.utils.data import BatchSampler as BatchSampler
from torch.utils.data import RandomSampler as RandomSampler
from torch.utils.data import Sampler as Sampler
from torch.utils.data import SequentialSampler as SequentialSampler
from torch.utils.data import SubsetRandomSampler as SubsetRandomSampler
