"""The GPUs of this machine, as torch sees them."""

import torch as _torch

from ..framework.torch_names import torch_names as _torch_names
from . import amp as amp

globals().update(_torch_names("oneflow.cuda", _torch.cuda))
