"""Making tensors: to_tensor, zeros, ones, full, arange ..."""

import warnings
from typing import Any

import numpy as np
import torch

from ..base import unique_name
from ..base.core import as_place, expected_place
from ..base.errors import NothingAssignedError, UnsettledError, no_kernel, paddles
from ..framework.dtype import torch_dtype
from ..framework.framework import default_torch_dtype
from ..framework.kinds import DTypeLike, Shape
from .operation import as_sizes, as_torch, need_tensor, no_small, operation, plain, row, to_dtype, wrap

__all__ = [
    "arange", "assign", "clone", "complex", "diag", "diag_embed", "diagflat", "empty", "empty_like", "eye", "full",
    "full_like", "linspace", "logspace", "meshgrid", "ones", "ones_like", "to_tensor", "tril", "tril_indices",
    "triu", "triu_indices", "zeros", "zeros_like",
]  # fmt: skip

_COUNTED = (torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)
_Complex = complex  # `complex` is a function of this module


def _from_python(data: Any, rounded: bool) -> torch.Tensor:
    """Numbers and nested lists as a tensor: ints are int64; floats get the default dtype if `rounded`, float64 otherwise."""
    if isinstance(data, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in data):
        return torch.stack([_from_python(each, rounded) for each in data])
    if isinstance(data, torch.Tensor):
        return data.detach()
    array = np.array(data)
    if array.dtype.kind in "OUS":
        raise ValueError(
            "to_tensor: the nested list holds something other than numbers, or its rows differ in length; "
            f"NumPy makes {array.dtype} of it"
        )
    if not rounded:
        return torch.as_tensor(array)
    if array.dtype == np.int32:
        return torch.from_numpy(array.astype(np.int64))  # but NumPy's own number stays (recorded, 2.6.2)
    if array.dtype.kind == "f":
        return torch.from_numpy(array).to(default_torch_dtype())
    if array.dtype.kind == "c":
        return torch.from_numpy(array).to(
            torch.complex64 if default_torch_dtype() == torch.float32 else torch.complex128
        )
    return torch.as_tensor(array)


def to_tensor(data: Any, dtype: DTypeLike = None, place: Any = None, stop_gradient: bool = True) -> torch.Tensor:
    """A copy of `data` (number, nested list or tuple, NumPy array, tensor) as a tensor.

    Args:
        data: the values to copy. Python floats get the default dtype, Python ints int64; arrays keep theirs.
        dtype: another element type.
        place: a place, or 'cpu', 'gpu', 'gpu:1'; the current device unless given.
        stop_gradient: False for a tensor that shall get a gradient.

    Raises:
        TypeError: for data of another kind or an unknown dtype.
        ValueError: for rows of different lengths or an unknown place.
    """
    wanted = None if dtype is None else torch_dtype(dtype)
    device = (expected_place() if place is None else as_place(place, "place")).device
    if isinstance(data, torch.Tensor):
        value = data.detach().clone()
    elif isinstance(data, (np.ndarray, np.generic)):
        if data.dtype.kind in "OUS":
            message = f"(InvalidArgument) to_tensor: cannot make a tensor of a NumPy array of dtype {data.dtype}"
            # Without a dtype Paddle hands the array to its C++ code, with one it first looks the dtype up (2.6.2, recorded).
            raise ValueError(message) if wanted is None else TypeError(message)
        value = torch.from_numpy(np.array(data, copy=True, ndmin=data.ndim))
    elif isinstance(data, (bool, int, float, _Complex, list, tuple)):
        value = _from_python(data, rounded=wanted is None)
    else:
        raise TypeError(
            f"Can't constructs a 'paddle.Tensor' with data type {type(data)}, "
            "data type must be scalar|list|tuple|np.ndarray|paddle.Tensor"
        )
    if value.dtype == torch.uint16 and wanted in (None, torch.bfloat16):  # its bits, as Paddle hands them out
        value = value.view(torch.bfloat16)
    tensor = wrap(plain((value if wanted is None else _in_dtype(value, wanted, data)).to(device).detach()))
    tensor.stop_gradient = bool(stop_gradient)
    tensor.name = unique_name.generate("generated_tensor")
    return tensor


def _in_dtype(value: torch.Tensor, wanted: torch.dtype, data: Any) -> torch.Tensor:
    """`value` in a dtype: NumPy rounds numbers and arrays to float16, Paddle cuts the digits of tensors off (recorded, 2.6.2)."""
    rounds = wanted is torch.float16 and not isinstance(data, torch.Tensor)
    return value.to(wanted) if rounds else to_dtype(value, wanted)


def _dtype_or_default(dtype: DTypeLike) -> torch.dtype:
    return default_torch_dtype() if dtype is None else torch_dtype(dtype)


def _options(dtype: DTypeLike) -> dict[str, Any]:
    return {"dtype": _dtype_or_default(dtype), "device": expected_place().device}


@operation
def zeros(shape: Shape, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """Zeros of `shape`."""
    return torch.zeros(as_sizes(shape), **_options(dtype))


ones = row(
    "ones", lambda shape, dtype=None, name=None: torch.ones(as_sizes(shape), **_options(dtype)), "Ones of `shape`."
)


@operation
def full(shape: Any, fill_value: Any, dtype: Any = None, name: str | None = None) -> torch.Tensor:
    """`fill_value` everywhere; the default float dtype unless the value is complex or `dtype` is given."""
    if isinstance(fill_value, torch.Tensor):
        fill_value = fill_value.item()
    if dtype is None and isinstance(fill_value, _Complex):
        dtype = "complex64"
    if isinstance(fill_value, str):
        # Paddle 2.6.2 takes "1.5", too (recorded); its own code writes numbers so.
        fill_value = float(fill_value)
    wanted = _dtype_or_default(dtype)
    if wanted is torch.bfloat16:  # in single precision first, which cuts digits off
        return to_dtype(full(shape, fill_value, "float32"), wanted)
    if not wanted.is_floating_point and not isinstance(fill_value, _Complex):  # as C casts it: nan, or 300 in uint8
        fill_value = torch.tensor(fill_value).to(wanted).item()
    return torch.full(as_sizes(shape), fill_value, dtype=wanted, device=expected_place().device)


@operation
def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: torch.Tensor | None = None,
    name: str | None = None,
) -> torch.Tensor:
    """`value` everywhere, put into `out` if given."""
    filled = full(shape, value, dtype)
    return filled if out is None else assign(filled, out)


@operation
def empty(shape: Shape, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """A tensor to be filled later; its zeros make mistakes reproducible."""
    return torch.zeros(as_sizes(shape), **_options(dtype))


def _like(x: torch.Tensor, dtype: DTypeLike) -> torch.dtype:
    need_tensor(x, "x", "zeros_like / ones_like / full_like")
    return torch_dtype(x.dtype if dtype is None else dtype)


@operation
def zeros_like(x: torch.Tensor, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """Zeros of the shape and dtype of `x`."""
    return torch.zeros_like(x, dtype=_like(x, dtype))


@operation
def ones_like(x: torch.Tensor, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """Ones of the shape and dtype of `x`."""
    return torch.ones_like(x, dtype=_like(x, dtype))


@operation
def full_like(x: torch.Tensor, fill_value: Any, dtype: Any = None, name: str | None = None) -> torch.Tensor:
    """`fill_value` in the shape and dtype of `x`."""
    return torch.full_like(x, fill_value, dtype=_like(x, dtype))


@operation
def empty_like(x: torch.Tensor, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """As `empty`, in the shape and dtype of `x`."""
    return torch.zeros_like(x, dtype=_like(x, dtype))


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (torch.Tensor, np.generic)) else value


@operation
def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: str | None = None) -> torch.Tensor:
    """Numbers from `start` up to, not including, `end`; int64 if all three are ints, the default float dtype otherwise."""
    given = [start, step] if end is None else [start, end, step]
    if end is None:
        start, end = 0, start
    if dtype is None:
        tensors = [each for each in given if isinstance(each, torch.Tensor)]
        if any(isinstance(_number(each), float) for each in given):
            dtype = tensors[0].dtype if tensors and tensors[0].is_floating_point() else None
        else:
            dtype = "int64"
    kind, ends = _dtype_or_default(dtype), [_number(each) for each in (start, end, step)]
    if kind not in _COUNTED:
        raise no_kernel(f"(NotFound) arange() is not implemented for {dtype}; cast a tensor of int64")
    if kind not in (torch.float32, torch.float64):
        # Each end is cut to an integer first, where torch counts in floats: arange(0.5, 3.7) has 3 integers (recorded, 2.6.2).
        ends = ends if kind.is_floating_point else [int(each) for each in ends]
        return torch.arange(*ends, device=expected_place().device).to(kind)
    # Paddle 2.6.2 adds the step again and again in the dtype (recorded): 1.5999999 is the third of arange(1, 2, 0.3).
    first, last, by = (np.float32(each) if kind is torch.float32 else float(each) for each in ends)
    if by == 0 or (last - first) / by <= 0:
        return torch.arange(*ends, dtype=kind)
    values = np.full(int(np.ceil((last - first) / by)), by)
    values[0] = first
    return torch.from_numpy(np.add.accumulate(values)).to(expected_place().device)


@operation
def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> torch.Tensor:
    """`num` numbers from `start` to `stop`, both included."""
    if dtype is not None and torch_dtype(dtype) not in _COUNTED:
        raise no_kernel(f"(NotFound) linspace() is not implemented for {dtype}")
    if int(_number(num)) < 1:
        halves = dtype is not None and torch_dtype(dtype) in (torch.float16, torch.bfloat16)
        fault = UnsettledError if halves else ValueError
        raise fault(f"(InvalidArgument) linspace(): num must be at least 1, got {num}")
    return torch.linspace(_number(start), _number(stop), int(_number(num)), **_options(dtype))


@operation
def logspace(
    start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: Any = None, name: str | None = None
) -> torch.Tensor:
    """`num` powers of `base`, the exponents evenly from `start` to `stop`."""
    return torch.logspace(_number(start), _number(stop), int(_number(num)), _number(base), **_options(dtype))


@operation
def eye(
    num_rows: int, num_columns: int | None = None, dtype: DTypeLike = None, name: str | None = None
) -> torch.Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    num_rows, num_columns = (_number(each) for each in (num_rows, num_columns))
    for each in (num_rows, num_columns):
        if each is not None and (not isinstance(each, (int, np.integer)) or each < 0):
            raise paddles(TypeError(f"eye: num_rows and num_columns must be non-negative ints, got {each!r}"))
    return torch.eye(num_rows, num_rows if num_columns is None else num_columns, **_options(dtype))


@operation
def diag(x: torch.Tensor, offset: int = 0, padding_value: float = 0, name: str | None = None) -> torch.Tensor:
    """The diagonal of a matrix, or the matrix with the vector `x` on its diagonal and `padding_value` elsewhere."""
    no_small(x, "diag")
    out = torch.diag(x, offset)
    if x.ndim == 1 and padding_value != 0:
        on_diagonal = torch.diag(torch.ones_like(x, dtype=torch.bool), offset)
        out = out.masked_fill(~on_diagonal, padding_value)
    return out


@operation
def diagflat(x: torch.Tensor, offset: int = 0, name: str | None = None) -> torch.Tensor:
    """The matrix with the elements of `x` on its diagonal."""
    return torch.diagflat(x, offset)


@operation
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> torch.Tensor:
    """Matrices with the last axis of `input` on their diagonals, without a gradient, as in Paddle 2.6.2 (recorded)."""
    return torch.diag_embed(as_torch(input).detach(), offset, dim1, dim2)


tril = row("tril", lambda x, diagonal=0, name=None: torch.tril(x, diagonal), "The lower triangle, zeros above.")
triu = row("triu", lambda x, diagonal=0, name=None: torch.triu(x, diagonal), "The upper triangle, zeros below.")


@operation
def tril_indices(row: int, col: int | None, offset: int = 0, dtype: DTypeLike = "int64") -> torch.Tensor:
    """Positions of the lower triangle, [2, count]."""
    return torch.tril_indices(row, row if col is None else col, offset, dtype=torch_dtype(dtype))


@operation
def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: DTypeLike = "int64") -> torch.Tensor:
    """Positions of the upper triangle, [2, count]."""
    return torch.triu_indices(row, row if col is None else col, offset, dtype=torch_dtype(dtype))


@operation
def meshgrid(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
    """The coordinate grids of 1-D tensors, first tensor along the first axis."""
    if set(kwargs) - {"name"}:
        raise paddles(TypeError(f"meshgrid() got an unexpected keyword argument {sorted(set(kwargs) - {'name'})[0]!r}"))
    tensors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    for each in tensors:
        no_small(each, "meshgrid")
    # Paddle has no other order.
    return list(torch.meshgrid(*tensors, indexing="ij"))


def assign(x: Any, output: torch.Tensor | None = None) -> torch.Tensor:
    """A copy of a tensor, array or list; written into `output` if that is given.

    Raises:
        NothingAssignedError: unless `x` is one of these.
    """
    if not isinstance(x, (torch.Tensor, np.ndarray, np.generic, list, tuple, int, float, bool)):
        # Paddle 2.6.2 gives None, on which the next line fails by AttributeError (recorded): it is both.
        raise NothingAssignedError(
            "The type of 'input' in assign must be <class 'paddle.Tensor'>, <class 'numpy.ndarray'>, <class 'list'>, "
            f"<class 'tuple'>, <class 'float'>, <class 'int'> or <class 'bool'>, but received {type(x)}."
        )
    value = x if isinstance(x, torch.Tensor) else _from_values(x)
    if output is None:
        return clone(value)
    with torch.no_grad():
        fits = list(output.shape) == list(value.shape) and output.dtype == value.dtype
        if not fits or (type(output) is not torch.Tensor and not wrap(output)._is_initialized()):
            # The shape and dtype of `x` override the shape and dtype of `output` (recorded, 2.6.2).
            output.data = torch.empty_like(plain(value.detach()))
        torch.Tensor.copy_(output.detach(), value)
    if value.requires_grad and not output.requires_grad:
        torch.Tensor.copy_(output, value)  # the same values, now with their gradient
    return output


def _from_values(values: Any) -> torch.Tensor:
    """An array, list or number as `assign` takes it: float64 becomes float32, with a warning; a number has shape [1]."""
    array = values if isinstance(values, np.ndarray) else np.atleast_1d(np.asarray(values))
    if array.dtype == np.uint16:
        raise TypeError(
            "When the type of 'input' in assign is numpy.ndarray, the data type of 'input' must be bool, float32, int32 or "
            "int64, but received uint16."
        )
    if array.dtype == np.float64:
        warnings.warn(
            "paddle.assign doesn't support float64 input now due to current platform protobuf data limitation, we "
            "convert it to float32",
            UserWarning,
            stacklevel=3,
        )
        array = array.astype(np.float32)
    return to_tensor(array)


@operation
def clone(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """A copy that passes gradients on to `x`."""
    return torch.clone(x)


@operation
def complex(real: torch.Tensor, imag: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """real + imag * j, element by element."""
    return torch.complex(*torch.broadcast_tensors(real, imag))
