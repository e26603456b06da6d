"""What every Paddle function shares: results become paddle Tensors, torch's faults become Paddle's errors.

Paddle raises ValueError for shapes or dtypes that do not match and for arguments of the wrong kind, RuntimeError where it
has no kernel for a dtype, where torch raises RuntimeError, TypeError and NotImplementedError.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np
import torch

from anygru.errors import ArgumentError, ArgumentTypeError

from .tensor import Tensor

# What torch's argument parser says: "tanh(): argument 'input' (position 1) must be Tensor, not list".
_TORCHS_TYPE_ERROR = re.compile(r"\(\): argument '|received an invalid combination of arguments|could not be converted")
Arguments = ParamSpec("Arguments")


def no_kernel(message: str) -> RuntimeError:
    """The RuntimeError for an operation that Paddle does not have for a dtype."""
    error = RuntimeError(message)
    error.is_paddles = True  # type: ignore[attr-defined]
    return error


def wrap(value: torch.Tensor) -> Tensor:
    """A torch result as a paddle Tensor: the same object under another class, nothing copied."""
    if type(value) is torch.Tensor:
        value.__class__ = Tensor
    return value  # type: ignore[return-value]


def wrap_all(value: Any) -> Any:
    """Tensors within a result become paddle Tensors; torch's tuples become lists, as Paddle returns them."""
    if type(value) is torch.Tensor:
        value.__class__ = Tensor
        return value
    if isinstance(value, list):
        return [wrap_all(each) for each in value]
    if isinstance(value, tuple):
        return tuple(wrap_all(each) for each in value)
    return value


def translate(error: Exception, name: str) -> Exception:
    """The error that Paddle raises where torch raised `error` inside the operation `name`."""
    message = str(error)
    if isinstance(error, torch.OutOfMemoryError) or getattr(error, "is_paddles", False):
        return error
    if "not implemented for" in message:
        return no_kernel(f"(NotFound) {name}(): {message}")
    if isinstance(error, (NotImplementedError, TypeError)) and not _TORCHS_TYPE_ERROR.search(message):
        return error  # raised by the dialect itself, or by a call that does not fit a signature
    if isinstance(error, IndexError) and not message.startswith("Dimension out of range"):
        return error
    return ValueError(f"(InvalidArgument) {name}(): {message}")


def operation(function: Callable[Arguments, Any]) -> Callable[Arguments, Any]:
    """Give a function Paddle's results and errors."""

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Any:
        try:
            result = function(*args, **kwargs)
        except (RuntimeError, TypeError, IndexError) as error:
            translated = translate(error, function.__name__)
            if translated is error:
                raise
            raise translated from error
        if type(result) is torch.Tensor:
            result.__class__ = Tensor
            return result
        return wrap_all(result) if isinstance(result, (tuple, list)) else result

    return call


def core_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call one of anygru's own functions; what it refuses becomes Paddle's ValueError."""
    try:
        return function(*args, **kwargs)
    except (ArgumentError, ArgumentTypeError) as error:
        raise ValueError(f"(InvalidArgument) {error}") from error


def need_tensor(value: Any, name: str, operation_name: str) -> None:
    """Raise Paddle's ValueError unless `value` is a tensor."""
    if not isinstance(value, torch.Tensor):
        raise ValueError(
            f"(InvalidArgument) {operation_name}(): argument '{name}' must be Tensor, but got {type(value).__name__}"
        )


def need_float(x: torch.Tensor, operation_name: str) -> None:
    """Raise where Paddle has a kernel for floating-point tensors only."""
    need_tensor(x, "x", operation_name)
    if not (x.is_floating_point() or x.is_complex()):
        raise no_kernel(f"(NotFound) {operation_name}() is not implemented for {x.dtype}; cast to a float dtype first")


def float_of_int(x: torch.Tensor) -> torch.Tensor:
    """An integer tensor as float32, a floating-point tensor itself: what exp, log and others do first."""
    return x if x.is_floating_point() or x.is_complex() else torch.Tensor.to(x, torch.float32)


def need_same_dtype(x: torch.Tensor, y: Any, operation_name: str) -> None:
    """Raise Paddle's ValueError unless `x` and `y` are tensors of one dtype."""
    need_tensor(x, "x", operation_name)
    need_tensor(y, "y", operation_name)
    if x.dtype != y.dtype:
        raise ValueError(
            f"(InvalidArgument) {operation_name}(): x and y must have one dtype, got {x.dtype} and {y.dtype}; "
            "cast one of them with astype"
        )


def as_axis(axis: Any) -> Any:
    """An axis argument: tensors and NumPy integers become ints, lists become tuples."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, (list, tuple)):
        return tuple(int(each) for each in axis)
    if isinstance(axis, torch.Tensor) and axis.numel() != 1:
        return tuple(int(each) for each in axis.tolist())
    return int(axis)


def as_sizes(shape: Any) -> list[int]:
    """A shape argument: a list or tuple whose items may be tensors, a 1-D tensor, or one integer."""
    if isinstance(shape, torch.Tensor):
        sizes = shape.tolist()
        return sizes if isinstance(sizes, list) else [sizes]
    if isinstance(shape, (list, tuple)):
        return [each if type(each) is int else _size(each) for each in shape]
    return [_size(shape)]


def _size(value: Any) -> int:
    if isinstance(value, (int, np.integer)) or (isinstance(value, torch.Tensor) and not value.is_floating_point()):
        return int(value)
    raise ValueError(f"(InvalidArgument) a length must be an int, got {type(value).__name__} {value!r}")
