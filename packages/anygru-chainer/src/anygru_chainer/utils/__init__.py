"""Small helpers that users import from `chainer.utils`."""

import collections.abc as collections_abc
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy
from numpy.typing import DTypeLike

from . import argument, conv_nd, type_check
from .array import size_of_shape, sum_to
from .conv import get_conv_outsize, get_deconv_outsize
from .experimental import experimental

__all__ = [
    "argument",
    "collections_abc",
    "conv_nd",
    "experimental",
    "force_array",
    "force_type",
    "get_conv_outsize",
    "get_deconv_outsize",
    "size_of_shape",
    "sum_to",
    "tempdir",
    "type_check",
]


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
