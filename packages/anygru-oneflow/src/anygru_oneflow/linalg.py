"""Norms and inverses, which are torch's."""

import torch as _torch

from .framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.linalg", _torch.linalg, _torch))
