"""`paddle.io`: datasets, samplers, DataLoader."""

from .dataloader.batch_sampler import *
from .dataloader.dataset import *
from .dataloader.sampler import *
from .reader import *
