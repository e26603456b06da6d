"""Tensors in another dtype or on another device."""

from typing import TYPE_CHECKING, Any

import torch

from ..base import core
from ..framework.dtype import as_dtype
from . import manipulation
from .operation import plain, to_dtype, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

_DEVICES = ("cpu", "gpu", "cuda", "xpu", "npu")
_OPTIONS = ("device", "dtype", "blocking", "other", "non_blocking", "copy", "memory_format")
_set_torch_grad = torch.Tensor.grad.__set__  # type: ignore[union-attr]


def _moved(x: torch.Tensor, device: torch.device | None, dtype: torch.dtype | None) -> torch.Tensor:
    return torch.Tensor.to(x if dtype is None else to_dtype(x, dtype), device=device)


def recast(tensor: "Tensor", device: torch.device | None, dtype: torch.dtype | None) -> None:
    """Move and cast a tensor and its gradient in place."""
    if not tensor._is_initialized():
        return
    new = _moved(plain(tensor.detach()), device, dtype)
    stop_gradient, grad = tensor.stop_gradient, tensor.grad
    if tensor.is_leaf:
        _set_torch_grad(tensor, None)
        tensor.requires_grad_(False)
    tensor.data = new
    tensor.stop_gradient = stop_gradient
    if grad is not None and new.is_floating_point():
        tensor.grad = _moved(plain(grad.detach()), device, dtype)


def astype(self: "Tensor", dtype: Any) -> torch.Tensor:
    """The tensor in another dtype.

    Raises:
        TypeError: for a dtype that there is not.
    """
    return manipulation.cast(self, "float64" if dtype is None else dtype)


def to(self: "Tensor", *args: Any, **kwargs: Any) -> "Tensor":
    """Move and cast the tensor: `to(device, dtype, blocking)` or `to(other)`.

    As in Paddle 2.6.2 (recorded) a leaf itself changes and is returned; a result of others gives a new tensor.

    Raises:
        TypeError: for an argument of another name.
        ValueError: for an unknown device.
    """
    if unknown := [name for name in kwargs if name not in _OPTIONS]:
        raise TypeError(f"to() got an unexpected keyword argument {unknown[0]!r}")
    place, kind, other = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("other")
    for arg in args:
        if isinstance(arg, torch.Tensor):
            other = arg
        elif isinstance(arg, (core.Place, torch.device)) or (isinstance(arg, str) and arg.split(":")[0] in _DEVICES):
            place = arg
        elif arg is not None and not isinstance(arg, bool):
            kind = arg
    if other is not None:
        place, kind = other.device, other.dtype
    device = place if place is None or isinstance(place, torch.device) else core.as_place(place).device
    dtype = None if kind is None else as_dtype(kind).torch
    if self.is_leaf:
        with torch.no_grad():
            recast(self, device, dtype)
        return self
    return wrap(_moved(self, device, dtype))


def cpu(self: "Tensor") -> "Tensor":
    """This tensor on the CPU."""
    return wrap(torch.Tensor.to(self, torch.device("cpu")))


def cuda(self: "Tensor", device_id: int | None = None, blocking: bool = True) -> "Tensor":
    """This tensor on a CUDA device."""
    return wrap(torch.Tensor.to(self, core.CUDAPlace(device_id or 0).device))


def pin_memory(self: "Tensor", blocking: bool = True) -> "Tensor":
    """This tensor in page-locked memory."""
    return wrap(torch.Tensor.pin_memory(self))
