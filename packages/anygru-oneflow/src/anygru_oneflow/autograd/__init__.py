"""Derivatives."""

import torch

from ..framework.torch_names import torch_names as _torch_names
from .autograd import *

globals().update({**_torch_names("oneflow.autograd", torch, torch.autograd), **globals()})
