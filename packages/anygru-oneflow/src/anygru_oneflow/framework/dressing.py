"""How torch's values become OneFlow's, in place, and back.

`framework/tensor.py` fills `DRESSED` with its classes: they are subclasses of torch's without further state, so a tensor is
converted by assigning its class, and stays the same object with the same place in the autograd graph.
"""

import contextlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor, Partial

from ..processes import global_tensor
from .dtype import Size, indexed, of_torch

DRESSED: dict[type, type] = {}
"""torch's classes of tensors, and OneFlow's."""


def _printed(self: Any) -> str:
    shown = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"oneflow.return_types.{type(self).__name__}(\n{shown})"


def _pair(name: str) -> type:
    kind = namedtuple(name, ["values", "indices"], module="oneflow.return_types")  # type: ignore[misc]
    kind.__repr__ = _printed  # type: ignore[method-assign]
    return kind


PAIRS: dict[type, Any] = {
    getattr(torch.return_types, name): _pair(name) for name in ("max", "median", "min", "sort", "topk")
}
"""torch's classes of values with their places, and OneFlow's, which print its name."""


def dress(value: Any) -> Any:
    """A result of torch in OneFlow's types: tensors (in place, also inside tuples and lists), shapes, types, devices."""
    kind = type(value)
    # torch leaves some results open as averages or extremes; OneFlow has only open sums.
    if kind is DTensor and any(
        isinstance(layout, Partial) and layout.reduce_op != "sum" for layout in value.placements
    ):
        value = global_tensor.with_sums(value)
    if kind in DRESSED:
        value.__class__ = DRESSED[kind]
    elif kind is torch.Size:
        return Size(value)
    elif kind is torch.dtype:
        return of_torch(value)
    elif kind is torch.device:
        return indexed(value)
    elif isinstance(value, (tuple, list)):
        for part in value:
            dress(part)
        if kind in PAIRS:
            return PAIRS[kind](*value)
    return value


def inside_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run with `__torch_function__` disabled: it sees torch's types, and its result is dressed once."""

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            result = in_order(function(*arguments, **keywords), arguments)
        return dress(result)

    return call


def in_order(result: Any, arguments: Sequence[Any]) -> Any:
    """The result with its elements in order in memory, so that `view` takes it.

    OneFlow 0.9.0 writes every new tensor in order (recorded; exceptions: `softmax` and `argsort` over a dimension before the
    last, indices by lists). torch keeps the order of an argument, such as a transposed tensor's.
    """
    kind = type(result)
    if kind in PAIRS:
        return result if all(part.is_contiguous() for part in result) else kind([part.contiguous() for part in result])
    if not isinstance(result, torch.Tensor) or result.is_contiguous() or result._is_view() or kind is DTensor:
        return result
    memory = result.untyped_storage().data_ptr()
    shared = any(isinstance(each, torch.Tensor) and each.untyped_storage().data_ptr() == memory for each in arguments)
    return result if shared else result.contiguous()


def as_in_programs() -> contextlib.AbstractContextManager[None]:
    """The context of functions that programs give to backward: tensors are OneFlow's, though backward runs inside torch."""
    return torch._C._EnableTorchFunction()


def dress_as_torch(value: torch.Tensor) -> torch.Tensor:
    """An alias in torch's own class."""
    if isinstance(value, DTensor):
        # `as_subclass` would lose the layout; the object's class changes, and `dress` changes it back.
        value.__class__ = DTensor
        return value
    return value.as_subclass(torch.Tensor)


def copied(values: Any) -> Any:
    """Nested lists of tensors or numbers, arrays or a tensor, as torch.tensor takes them, sharing no memory."""
    if isinstance(values, torch.Tensor):
        return values.detach().clone().as_subclass(torch.Tensor)
    if isinstance(values, np.ndarray):
        return values.copy()
    if isinstance(values, (list, tuple)) and any(isinstance(value, torch.Tensor) for value in values):
        # torch takes no list of tensors other than single numbers.
        return [value.tolist() for value in values]
    return values


class NotATensor(TypeError):
    """An object `obj` that is not a tensor, where a tensor is needed."""

    def __init__(self, obj: object) -> None:
        super().__init__(f"a tensor is needed, got {type(obj).__name__}")
        self.obj = obj


def torch_dtype(tensor: torch.Tensor) -> torch.dtype:
    """torch's type of any tensor. Raises TypeError, as OneFlow does, for any other object."""
    if not isinstance(tensor, torch.Tensor):
        raise NotATensor(tensor)
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.dtype
