"""Filling parameters with initial values, by torch's functions."""

import torch as _torch

from ..framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.nn.init", _torch.nn.init))
