"""Filling parameters with initial values, by torch's functions."""

from collections.abc import Callable as _Callable
from functools import wraps as _wraps
from typing import Any as _Any

import numpy as _np
import torch as _torch

from ..framework.tensor import Tensor as _Tensor
from ..framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.nn.init", _torch.nn.init))


def _by_fans(function: _Callable[..., _Any]) -> _Callable[..., _Any]:
    """A function that counts the inputs and outputs of a weight. Its channels are last for `data_format="NHWC"`."""

    @_wraps(function)
    def fill(tensor: _Tensor, *arguments: _Any, data_format: str = "NCHW", **keywords: _Any) -> _Tensor:
        function(_torch.movedim(tensor, -1, 1) if data_format == "NHWC" else tensor, *arguments, **keywords)
        return tensor

    return fill


kaiming_normal_ = _by_fans(_torch.nn.init.kaiming_normal_)
kaiming_uniform_ = _by_fans(_torch.nn.init.kaiming_uniform_)
xavier_normal_ = _by_fans(_torch.nn.init.xavier_normal_)
xavier_uniform_ = _by_fans(_torch.nn.init.xavier_uniform_)


def orthogonal_(tensor: _Tensor, gain: float = 1.0) -> _Tensor:
    """Fill with a matrix with orthogonal rows or columns, drawn by `numpy.random` as in OneFlow 0.9.0.

    Raises:
        ValueError: the tensor has fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows = tensor.shape[0]
    normal = _np.random.normal(0.0, 1.0, (rows, tensor.numel() // rows))
    is_wide = rows < normal.shape[1]
    q, r = _np.linalg.qr(normal.T if is_wide else normal)
    q *= _np.sign(_np.diag(r))
    values = gain * (q.T if is_wide else q).reshape(tensor.shape)
    with _torch.no_grad():
        _torch.Tensor.copy_(tensor, _torch.as_tensor(values))
    return tensor


def trunc_normal_(tensor: _Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> _Tensor:
    """Draw from a normal distribution; values outside of [a, b] become a or b.

    As OneFlow 0.9.0 does (recorded: 16 % of the values are a for a = -1); torch draws within the limits.
    """
    with _torch.no_grad():
        return tensor.normal_(mean, std).clamp_(a, b)  # type: ignore[return-value]


for _function in (kaiming_normal_, kaiming_uniform_, orthogonal_, trunc_normal_, xavier_normal_, xavier_uniform_):
    setattr(_Tensor, _function.__name__, _function)
