"""Annotations of sizes, which are torch's."""

import torch.nn.common_types as _torch

from ..framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.nn.common_types", _torch))
