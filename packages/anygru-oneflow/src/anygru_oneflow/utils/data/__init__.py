"""Data sets and loaders: torch's, giving OneFlow's tensors."""

import torch.utils.data

from ...framework.torch_names import torch_names as _torch_names
from .dataloader import *
from .distributed import DistributedSampler

globals().update({**_torch_names("oneflow.utils.data", torch.utils.data), **globals()})
