"""The functions that scripts call on `xp` when it is the module for GPU arrays (the original has CuPy there)."""

import sys
from typing import Any

import numpy
import torch
from numpy.typing import DTypeLike

from ._gpu_array import check_cuda_available, ndarray, torch_dtype, unwrap

__all__ = [
    "abs", "absolute", "all", "any", "arange", "argmax", "array", "asarray", "ascontiguousarray", "asnumpy", "ceil",
    "concatenate", "dot", "empty", "empty_like", "exp", "float16", "float32", "float64", "floor", "full", "full_like",
    "get_array_module", "identity", "inf", "int32", "int64", "isfinite", "isnan", "log", "maximum", "mean", "minimum",
    "nan", "ndarray", "newaxis", "ones", "ones_like", "pi", "random", "sign", "sqrt", "square", "stack", "std", "sum",
    "tanh", "trunc", "where", "zeros", "zeros_like",
]  # fmt: skip
newaxis = None
float16, float32, float64 = numpy.float16, numpy.float32, numpy.float64
int32, int64 = numpy.int32, numpy.int64
nan, inf, pi = numpy.nan, numpy.inf, numpy.pi


def _device() -> torch.device:
    check_cuda_available()
    return torch.device("cuda", torch.cuda.current_device())


def empty(shape: tuple[int, ...], dtype: DTypeLike | None = float32) -> ndarray:
    return ndarray(torch.empty(shape, dtype=torch_dtype(dtype), device=_device()))


def full(shape: tuple[int, ...], value: Any, dtype: DTypeLike | None = float32) -> ndarray:
    array = empty(shape, dtype)
    array.fill(value)
    return array


def zeros(shape: tuple[int, ...], dtype: DTypeLike | None = float32) -> ndarray:
    return full(shape, 0, dtype)


def ones(shape: tuple[int, ...], dtype: DTypeLike | None = float32) -> ndarray:
    return full(shape, 1, dtype)


def full_like(array: ndarray, value: Any) -> ndarray:
    return ndarray(torch.full_like(array.tensor, unwrap(value)))


def zeros_like(array: ndarray) -> ndarray:
    return ndarray(torch.zeros_like(array.tensor))


def ones_like(array: ndarray) -> ndarray:
    return ndarray(torch.ones_like(array.tensor))


def empty_like(array: ndarray) -> ndarray:
    return ndarray(torch.empty_like(array.tensor))


def array(value: Any, dtype: DTypeLike | None = None, copy: bool = True) -> ndarray:
    """A GPU array of the values of a NumPy array, a list, a scalar or another GPU array."""
    if isinstance(value, ndarray):
        return value.copy() if copy and dtype is None else value.astype(dtype or value.dtype, copy=copy)
    value = numpy.asarray(value, dtype)
    torch_dtype(value.dtype)
    return ndarray(torch.from_numpy(numpy.array(value)).to(_device()))


def asarray(value: Any, dtype: DTypeLike | None = None) -> ndarray:
    return array(value, dtype, copy=False)


ascontiguousarray = asarray


def asnumpy(value: Any) -> numpy.ndarray:
    return value.get() if isinstance(value, ndarray) else numpy.asarray(value)


def arange(*args: Any, dtype: DTypeLike | None = None) -> ndarray:
    return array(numpy.arange(*args, dtype=dtype))


def identity(n: int, dtype: DTypeLike | None = float32) -> ndarray:
    return array(numpy.identity(n, dtype))


def concatenate(arrays: Any, axis: int = 0) -> ndarray:
    return ndarray(torch.cat([unwrap(a) for a in arrays], axis))


def stack(arrays: Any, axis: int = 0) -> ndarray:
    return ndarray(torch.stack([unwrap(a) for a in arrays], axis))


def where(condition: ndarray, x: Any, y: Any) -> ndarray:
    return ndarray(torch.where(condition.tensor, unwrap(x), unwrap(y)))


def dot(a: ndarray, b: ndarray) -> ndarray:
    return a.dot(b)


def get_array_module(*arrays: Any) -> Any:
    """This module if any argument (array or Variable) is on a GPU; NumPy otherwise."""
    # A Variable has its array in `.array`; both kinds are passed.
    on_gpu = [array for array in arrays if isinstance(getattr(array, "array", array), ndarray)]
    return sys.modules[__name__] if on_gpu else numpy


def _elementwise(name: str) -> Any:
    function = getattr(torch, name)

    def apply(x: Any, *args: Any) -> ndarray:
        return ndarray(function(unwrap(x), *[unwrap(arg) for arg in args]))

    apply.__name__ = name
    return apply


sqrt, exp, log, tanh, sign, square = (_elementwise(n) for n in ("sqrt", "exp", "log", "tanh", "sign", "square"))
isnan, isfinite, floor, ceil, trunc = (_elementwise(n) for n in ("isnan", "isfinite", "floor", "ceil", "trunc"))
absolute = abs = _elementwise("absolute")


def _of_two(name: str) -> Any:
    function = getattr(torch, name)

    def apply(x: Any, y: Any) -> ndarray:
        """Either may be a number, which as in NumPy does not widen an array of its kind."""
        device = next(each.tensor.device for each in (x, y) if isinstance(each, ndarray))
        pair = [numpy.float64(each) if isinstance(each, float) else unwrap(each) for each in (x, y)]
        return ndarray(function(*[torch.as_tensor(each, device=device) for each in pair]))

    apply.__name__ = name
    return apply


maximum, minimum = _of_two("maximum"), _of_two("minimum")


def sum(x: ndarray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> ndarray:
    return x.sum(axis, keepdims)


def mean(x: ndarray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> ndarray:
    return x.mean(axis, keepdims)


def std(x: ndarray, axis: int | tuple[int, ...] | None = None) -> ndarray:
    return x.std(axis)


def argmax(x: ndarray, axis: int | None = None) -> ndarray:
    return x.argmax(axis)


def all(x: ndarray) -> ndarray:
    return x.all()


def any(x: ndarray) -> ndarray:
    return x.any()


class random:
    """Random arrays, drawn from NumPy's global generator, so that one seed serves CPU and GPU alike."""

    @staticmethod
    def seed(seed: int | None = None) -> None:
        numpy.random.seed(seed)

    @staticmethod
    def normal(loc: float = 0.0, scale: float = 1.0, size: Any = None, dtype: DTypeLike | None = float32) -> ndarray:
        return array(numpy.random.normal(loc, scale, size), dtype)

    @staticmethod
    def uniform(low: float = 0.0, high: float = 1.0, size: Any = None, dtype: DTypeLike | None = float32) -> ndarray:
        return array(numpy.random.uniform(low, high, size), dtype)

    @staticmethod
    def rand(*shape: int, dtype: DTypeLike | None = float32) -> ndarray:
        return array(numpy.random.rand(*shape), dtype)

    @staticmethod
    def randn(*shape: int, dtype: DTypeLike | None = float32) -> ndarray:
        return array(numpy.random.randn(*shape), dtype)
