"""The functions that make tensors: torch's, with OneFlow's types and with layouts over processes."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch

from .. import sbp as sbp_module
from .dressing import copied, dress, inside_torch, torch_dtype
from .dtype import (
    DeviceLike,
    bool_,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    of_torch,
    plain,
    stored,
    uint8,
)
from .over_processes import placed
from .placement import placement
from .tensor import Tensor

__all__ = [
    "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "arange", "as_tensor", "atan2", "broadcast_shapes", "cast", "contiguous",
    "empty", "empty_like", "erfinv_", "expand", "eye", "from_numpy", "full",
    "full_like", "get_default_dtype", "global_to_global", "hann_window", "is_tensor",
    "linspace", "local_to_global", "logspace", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros",
    "ones", "ones_like",
    "repeat", "set_default_dtype", "set_default_tensor_type", "tensor",
    "to_global", "to_local", "view", "zeros", "zeros_like",
]  # fmt: skip

Maker = Callable[..., Tensor]


def making(function: Callable[..., torch.Tensor]) -> Maker:
    """A torch function that makes a tensor, with the additional arguments `placement` and `sbp`.

    With them, every process computes the whole tensor, rank 0's values are used, and each process keeps its piece.
    """

    @wraps(function)
    def make(
        *arguments: Any,
        placement: placement | None = None,
        sbp: sbp_module.Layout | None = None,
        requires_grad: bool = False,
        **keywords: Any,
    ) -> Tensor:
        model = arguments[0] if arguments else None
        if placement is None and isinstance(model, Tensor) and _is_open(model):
            placement, sbp = model.placement, model.sbp
        given = [_whole(value) for value in arguments] if placement is not None else arguments
        made = function(*map(plain, given), **{name: plain(value) for name, value in keywords.items()})
        return placed(made, placement, sbp).requires_grad_(bool(requires_grad))

    return make


def _is_open(tensor: Tensor) -> bool:
    """Whether it is an open sum. torch does not copy this layout to a tensor with the same shape."""
    return tensor.is_global and sbp_module.partial_sum in tensor.sbp


def _whole(value: Any) -> Any:
    """The model of a global tensor: for a tensor, its whole values on this process."""
    return value._whole().as_subclass(torch.Tensor) if isinstance(value, Tensor) else value


def _filling(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A function (size or model, value) of torch. A value that the type cannot hold wraps around."""

    @wraps(function)
    def fill(like: Any, fill_value: Any, *, dtype: torch.dtype | None = None, **keywords: Any) -> torch.Tensor:
        known = torch_dtype(like) if dtype is None and isinstance(like, torch.Tensor) else dtype
        value = fill_value if known is None else stored(fill_value, known)
        return function(like, value, dtype=dtype, **keywords)

    return fill


def _eye(n: float, m: float | None = None, *, dtype: torch.dtype = torch.float32, **keywords: Any) -> torch.Tensor:
    """torch.eye, which takes no None for the number of columns, and whole numbers alone."""
    return torch.eye(int(n), int(n if m is None else m), dtype=dtype, **keywords)


def _arange(
    start: Any = 0, end: Any = None, step: Any = 1, dtype: torch.dtype | None = None, **keywords: Any
) -> torch.Tensor:
    """torch.arange. For a dtype of whole numbers OneFlow 0.9.0 rounds its limits and step toward zero."""
    limits = [0, start, step] if end is None else [start, end, step]
    limits = [limit.item() if isinstance(limit, torch.Tensor) else limit for limit in limits]
    if dtype is not None and not dtype.is_floating_point:
        limits = [int(limit) for limit in limits]
    begin, end, step = limits
    if all(isinstance(limit, int) for limit in limits) and 0 < (begin - end) * (step > 0 or -1) < abs(step):
        # For whole numbers 0.9.0 rounds the count toward zero, and refuses only a distance of a step or more (recorded).
        limits = [begin, begin, step]
    return torch.arange(*limits, dtype=dtype, **keywords)


def _linspace(start: Any, end: Any, steps: Any, dtype: torch.dtype | None = None, **keywords: Any) -> torch.Tensor:
    """Numbers at equal distances, which OneFlow 0.9.0 makes by `arange`: with whole numbers there may be more than `steps`."""
    start, end, steps = (value.item() if isinstance(value, torch.Tensor) else value for value in (start, end, steps))
    if steps < 0:
        raise RuntimeError(f"linspace: steps must be 0 or more, got {steps}")
    if start == end:
        # A step of 0, which `arange` refuses, is a special case in 0.9.0.
        return torch.full((steps,), float(start), dtype=torch.float32, **keywords)  # for any dtype (recorded)
    step = 1.0 if steps < 2 else (end - start) / (steps - 1)
    # Half a step more lets `arange`, which leaves its end out, include it in spite of rounding.
    end = {0: start, 1: start + 1.0}.get(steps, end + step / 2)
    return _arange(start, end, step, dtype or torch.float32, **keywords)


def _logspace(start: Any, end: Any, steps: Any, base: float = 10.0, **keywords: Any) -> torch.Tensor:
    """Powers of numbers at equal distances, which OneFlow 0.9.0 makes by `linspace`: `dtype` is the dtype of the exponents."""
    return torch.pow(float(base), _linspace(start, end, steps, **keywords))


def _like(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A method that makes a tensor in the type of another; without sizes also in its shape (recorded in 0.9.0)."""

    @wraps(function)
    def make(self: torch.Tensor, *size: Any, **keywords: Any) -> torch.Tensor:
        return function(self, *(size or self.shape), **keywords)

    return make


def _hann_window(window_length: int, periodic: bool = True, **keywords: Any) -> torch.Tensor:
    """torch.hann_window; a window of one is the whole number 1 (recorded in 0.9.0)."""
    if window_length == 1 and keywords.get("dtype") is None:
        return torch.ones(1, dtype=torch.int64)
    return torch.hann_window(window_length, bool(periodic), **keywords)


zeros = making(torch.zeros)
ones = making(torch.ones)
full = making(_filling(torch.full))
empty = making(torch.empty)
# These are float32 for any default type (recorded in 0.9.0).
eye = making(_eye)
arange = making(_arange)
linspace = making(_linspace)
hann_window = making(_hann_window)
logspace = making(_logspace)
zeros_like = making(torch.zeros_like)
ones_like = making(torch.ones_like)
full_like = making(_filling(torch.full_like))
empty_like = making(torch.empty_like)


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: DeviceLike | None = None,
    placement: placement | None = None,
    sbp: sbp_module.Layout | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with these values, copied. Python's numbers give the default type or int64; arrays keep their type."""
    known: Any = plain(dtype)
    values = _numbers(copied(data), known)
    if known is None and not isinstance(values, (np.ndarray, torch.Tensor)) and _is_floating(values):
        # NumPy's numbers in a list are float32 for any NumPy type and any default type (recorded in 0.9.0).
        known = torch.get_default_dtype() if np.asarray(values).dtype == np.float64 else torch.float32
    made = torch.as_tensor(values, dtype=known, device=plain(device))
    if not made.numel():
        made = made.new_empty(made.shape)  # NumPy's strides of nothing are zeros
    return placed(made, placement, sbp).requires_grad_(requires_grad)


def _numbers(values: Any, known: torch.dtype | None) -> Any:
    """The data without values that only NumPy converts: if a type is known, None becomes NaN, and a complex number its real
    part.

    Raises:
        RuntimeError: text, complex numbers and other values that OneFlow's tensors cannot hold.
    """
    if type(values) in (int, float, bool) or isinstance(values, torch.Tensor):
        return values
    try:
        kind = np.asarray(values).dtype.kind
    except ValueError as error:  # lists of different lengths
        raise RuntimeError(f"a tensor holds numbers in rows of one length: {error}") from None
    if kind in "biuf":
        return stored(values.item(), known) if isinstance(values, np.generic) and known is not None else values
    if known is not None and (values is None or isinstance(values, (complex, np.complexfloating))):
        return stored(float("nan") if values is None else float(values.real), known)
    raise RuntimeError(f"a tensor holds numbers, got {values!r}")


def _is_floating(values: Any) -> bool:
    """Whether nested lists of numbers or arrays hold floating point."""
    return np.asarray(values).dtype.kind == "f"


def as_tensor(data: Any, dtype: dtype | None = None, device: DeviceLike | None = None) -> Tensor:
    """The data as a tensor, without a copy where that is possible."""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device, dtype)
    if isinstance(data, np.ndarray):
        return dress(torch.as_tensor(data, dtype=plain(dtype), device=device))
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory."""
    return dress(torch.from_numpy(array))


def typed(name: str, known: dtype) -> Maker:
    """`oneflow.LongTensor` and the like: a maker of tensors of one type, from values or sizes."""

    def make(cls: type, *values: Any, size: Any = None) -> Tensor:
        values = values if size is None else (*values, *size)
        if not values or isinstance(values[0], (int, np.integer)):
            # A single whole number is a size, as in torch's old constructors, not a value.
            return Tensor(*map(int, values)).to(known)
        return tensor(values[0], dtype=known)

    # A class. No tensor is an instance of it (recorded in 0.9.0).
    return type(name, (), {"__new__": make, "__module__": "oneflow"})


def to_global(
    input: Tensor, placement: placement | None = None, sbp: sbp_module.Layout | None = None, **keywords: Any
) -> Tensor:
    """As the tensor's method."""
    return input.to_global(placement, sbp, **keywords)


def local_to_global(
    input: Tensor, placement: placement | None = None, sbp: sbp_module.Layout | None = None, **keywords: Any
) -> Tensor:
    """As the tensor's method."""
    return input.local_to_global(placement, sbp, **keywords)


def global_to_global(
    input: Tensor, placement: placement | None = None, sbp: sbp_module.Layout | None = None, **keywords: Any
) -> Tensor:
    """As the tensor's method."""
    return input.global_to_global(placement, sbp, **keywords)


def to_local(input: Tensor, **keywords: Any) -> Tensor:
    """As the tensor's method."""
    return input.to_local(**keywords)


def cast(input: Tensor, dtype: dtype, pin_memory: bool = False) -> Tensor:
    """As the tensor's method; `pin_memory` is for GPUs."""
    return input.to(dtype)


def is_tensor(input: Any) -> bool:
    """Whether it is one of OneFlow's tensors."""
    return isinstance(input, Tensor)


def atan2(input: Any, other: Any) -> Any:
    """The angle of (other, input), in the common type of both; here an operand without dimensions counts (recorded in 0.9.0)."""
    if isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor):
        common = torch.promote_types(torch_dtype(input), torch_dtype(other))
        input, other = input.to(common), other.to(common)
    return torch.atan2(input, other)


broadcast_shapes = inside_torch(torch.broadcast_shapes)

# Methods of torch's tensors that are functions in OneFlow.
contiguous = Tensor.contiguous
erfinv_ = Tensor.erfinv_
expand = Tensor.expand
new_empty = making(torch.Tensor.new_empty)


def _new_full(self: Tensor, size: Any, fill_value: Any, dtype: torch.dtype | None = None, **keywords: Any) -> Any:
    """A tensor of one value, in the type of another one unless another type is given."""
    value = stored(fill_value, torch_dtype(self) if dtype is None else dtype)
    return torch.Tensor.new_full(self, (size,) if isinstance(size, int) else size, value, dtype=dtype, **keywords)


new_full = making(wraps(torch.Tensor.new_full)(_new_full))
new_ones = making(_like(torch.Tensor.new_ones))


def new_tensor(
    self: Tensor, data: Any, dtype: dtype | None = None, device: DeviceLike | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with these values, in the type of another and on its device unless others are given."""
    like = of_torch(torch_dtype(self)) if dtype is None else dtype
    return tensor(data, dtype=like, device=self.device if device is None else device, requires_grad=requires_grad)


new_zeros = making(_like(torch.Tensor.new_zeros))
repeat = Tensor.repeat
view = Tensor.view

FloatTensor = typed("FloatTensor", float32)
DoubleTensor = typed("DoubleTensor", float64)
HalfTensor = typed("HalfTensor", float16)
LongTensor = typed("LongTensor", int64)
IntTensor = typed("IntTensor", int32)
CharTensor = typed("CharTensor", int8)
ByteTensor = typed("ByteTensor", uint8)
BoolTensor = typed("BoolTensor", bool_)


def set_default_dtype(d: dtype) -> None:
    """Set the type of tensors made from Python's floats. Raises RuntimeError for a type that is not floating point."""
    if not d.is_floating_point:
        raise RuntimeError(f"only floating-point types are supported as the default type, got {d}")
    torch.set_default_dtype(d.torch)


def set_default_tensor_type(tensor_type: str | Maker) -> None:
    """Set the default type by a type of tensors, such as `oneflow.DoubleTensor` or its name."""
    known = globals()[tensor_type.rpartition(".")[2]] if isinstance(tensor_type, str) else tensor_type
    torch.set_default_dtype(torch_dtype(known()))


def get_default_dtype() -> dtype:
    """The type of tensors made from Python's floats."""
    return of_torch(torch.get_default_dtype())


for _maker in (new_empty, new_full, new_ones, new_tensor, new_zeros):
    setattr(Tensor, _maker.__name__, _maker)
Tensor.atan2 = atan2  # type: ignore[assignment, method-assign]
