"""Tensors to and from torch, in the same memory."""

import torch

from ..framework.dressing import dress
from ..framework.tensor import Tensor

__all__ = ["from_torch", "to_torch"]


def from_torch(torch_tensor: torch.Tensor) -> Tensor:
    """torch's tensor as OneFlow's, outside of the autograd graph."""
    return dress(torch_tensor.detach())


def to_torch(flow_tensor: Tensor) -> torch.Tensor:
    """OneFlow's tensor as torch's, outside of the autograd graph."""
    return flow_tensor.detach().as_subclass(torch.Tensor)
