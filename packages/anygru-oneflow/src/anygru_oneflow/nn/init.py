"""Filling parameters with initial values, by torch's functions."""

import torch as _torch

from ..framework.dressing import inside_torch as _inside_torch
from ..framework.tensor import Tensor as _Tensor
from ..framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.nn.init", _torch.nn.init))
# It transposes a wide matrix in place, by a method that OneFlow's tensors do not have.
orthogonal_ = _inside_torch(_torch.nn.init.orthogonal_)


def trunc_normal_(tensor: _Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> _Tensor:
    """Draw from a normal distribution; values outside of [a, b] become a or b.

    That is what OneFlow 0.9.0 does (recorded: 16 % of the values are a for a = -1), where torch draws within the limits.
    """
    with _torch.no_grad():
        return tensor.normal_(mean, std).clamp_(a, b)  # type: ignore[return-value]


_Tensor.trunc_normal_, _Tensor.orthogonal_ = trunc_normal_, orthogonal_  # type: ignore[attr-defined]
