"""Sizes as tuples, by torch's functions."""

from torch.nn.modules import utils as _torch

from ...framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.nn.modules.utils", _torch))
