"""Small helpers that users import from `chainer.utils`."""

import contextlib
import math
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy
from numpy.typing import DTypeLike

__all__ = [
    "experimental", "force_array", "force_type", "get_conv_outsize", "get_deconv_outsize", "size_of_shape", "sum_to",
    "tempdir",
]  # fmt: skip


def force_array(x: Any, dtype: DTypeLike | None = None) -> Any:
    """`x` as an array: a scalar becomes a 0-dimensional one; cast where `dtype` is given."""
    if numpy.isscalar(x):
        return numpy.array(x, dtype)
    return x if dtype is None else x.astype(dtype, copy=False)


def force_type(dtype: Any, value: Any) -> Any:
    """A scalar or an array cast to `dtype`."""
    return dtype.type(value) if numpy.isscalar(value) else value.astype(dtype, copy=False)


def _raise_from(exc_type: type[BaseException], message: str, orig_exc: BaseException) -> NoReturn:
    """Raise an exception that also names its cause."""
    text = f"{message}\n\n(caused by)\n{type(orig_exc).__name__}: {orig_exc}\n"
    raise exc_type(text).with_traceback(orig_exc.__traceback__) from None


@contextlib.contextmanager
def tempdir(*, ignore_errors: bool = False, **kwargs: Any) -> Iterator[str]:
    """A temporary folder that is removed at the end of the `with` block; keywords go to `tempfile.mkdtemp`."""
    path = tempfile.mkdtemp(**kwargs)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=ignore_errors)


def size_of_shape(shape: Iterable[int]) -> int:
    """Number of elements of an array of this shape."""
    return int(math.prod(shape))


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Sum an array over the axes along which `shape` was broadcast to `x.shape`."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    stretched = tuple(axis + lead for axis, size in enumerate(shape) if size == 1)
    return x.sum(axis=tuple(range(lead)) + stretched, keepdims=True).reshape(shape)


def as_vec(x: Any) -> Any:
    """The array with one axis."""
    return x.ravel()


def as_mat(x: Any) -> Any:
    """The array with two axes; the first axis is unchanged."""
    return x.reshape(len(x), -1)


def get_conv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The size that a convolution gives of `size`, with a window of k, a stride of s, a padding of p, a dilation of d."""
    rest = size + 2 * p - (d * (k - 1) + 1)
    return (rest + s - 1 if cover_all else rest) // s + 1


def get_deconv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The size that a transposed convolution gives of `size`; see `get_conv_outsize`."""
    whole = s * (size - 1) + d * (k - 1) + 1 - 2 * p
    return whole - s + 1 if cover_all else whole


Ints = int | Sequence[int]
"""One number for all axes, or one each."""


def as_tuple(value: Ints, n: int) -> tuple[int, ...]:
    """`value` for each of n axes, or the given n values (AssertionError for another number of values)."""
    if isinstance(value, (int, numpy.integer)):
        return (value,) * n
    assert len(value) == n, f"expected one number, or one for each of {n} axes, got {value}"
    return tuple(value)


_PACKAGE = __name__.removesuffix(".utils.helpers")


def experimental(api_name: str) -> None:
    """Warn (FutureWarning) that `api_name` may change, unless `chainer.disable_experimental_feature_warning`."""
    # Users set the flag on the package itself, which imports this file.
    if not sys.modules[_PACKAGE].disable_experimental_feature_warning:
        warnings.warn(f"{api_name} is experimental. The interface can change in the future.", FutureWarning)
