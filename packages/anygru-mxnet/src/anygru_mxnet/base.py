"""Definitions for the whole dialect: the error class, type groups and dtype names.

Follows MXNet 1.9's `mxnet.base`.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from anygru.errors import AnygruError
from anygru.extend import TORCH_OF_NUMPY

__all__ = [
    "MXNetError", "NotImplementedForSymbol", "data_dir", "data_dir_default", "integer_types", "mx_real_t",
    "numeric_types", "py_str", "string_types",
]  # fmt: skip


def data_dir_default() -> str:
    """The folder of models and data sets, unless MXNET_HOME is set."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """The folder of models and data sets."""
    return os.environ.get("MXNET_HOME", data_dir_default())


class MXNetError(RuntimeError):
    """The error that MXNet's engine raises for a call it cannot compute."""


class NotImplementedForSymbol(MXNetError):
    """The error for operations of arrays only."""

    def __init__(self, function: Callable, alias: str | None, *args: Any) -> None:
        super().__init__()
        self.function, self.alias, self.args = function.__name__, alias, tuple(str(type(value)) for value in args)

    def __str__(self) -> str:
        named = f' (namely operator "{self.alias}")' if self.alias else ""
        given = f" with arguments ({', '.join(self.args)})" if self.args else ""
        return f"Function {self.function}{named}{given} is not implemented for Symbol and only available in NDArray."


string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
mx_real_t = np.float32

_TORCH_OF_NUMPY = {
    np.dtype(name): TORCH_OF_NUMPY[np.dtype(name)]
    for name in ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
}
NUMPY_OF_TORCH = {dtype: name.type for name, dtype in _TORCH_OF_NUMPY.items()}
# The numbers of the dtypes in MXNet's files and in attributes of symbols.
DTYPE_NUMBERS = {np.float32: 0, np.float64: 1, np.float16: 2, np.uint8: 3, np.int32: 4, np.int8: 5, np.int64: 6}
# The numbers of the storage types in MXNet. Arrays of the dialect have the first.
STORAGE_NUMBERS = {"default": 0, "row_sparse": 1, "csr": 2}
# Types of arguments.
DtypeLike = str | type | np.dtype | None
Sizes = int | Sequence[int] | None
_known_dtypes: dict[Any, torch.dtype] = {}


def torch_dtype(dtype: DtypeLike) -> torch.dtype:
    """The torch dtype of an MXNet dtype: a name, a NumPy type or dtype, None for float32.

    Raises:
        TypeError: for a dtype that MXNet arrays do not have.
    """
    if dtype is None:
        return torch.float32
    try:
        return _known_dtypes[dtype]
    except (KeyError, TypeError):
        pass
    found = _TORCH_OF_NUMPY.get(np.dtype(dtype))
    if found is None:
        raise TypeError(f"dtype: MXNet arrays are {', '.join(map(str, _TORCH_OF_NUMPY))}; got {dtype!r}")
    _known_dtypes[dtype] = found
    return found


class FrontEndFault(Exception):
    """An error of MXNet's Python layer. It keeps Python's class, unlike an error of the engine."""


class FrontEndIndexError(FrontEndFault, IndexError):
    """An IndexError of MXNet's Python."""


class FrontEndValueError(FrontEndFault, ValueError):
    """A ValueError of MXNet's Python."""


class FrontEndUnsupported(FrontEndFault, NotImplementedError):
    """A NotImplementedError of MXNet's Python."""


def is_refusal(error: Exception) -> bool:
    """Whether an operator's error stays: MXNet's, or the dialect's. Where torch lacks a kernel for a dtype, it raises a
    NotImplementedError, which MXNet users do not catch."""
    lacks_a_kernel = isinstance(error, NotImplementedError) and "not implemented for '" in str(error)
    return isinstance(error, (MXNetError, NotImplementedError, AssertionError)) and not lacks_a_kernel


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Convert torch's errors about shapes and dtypes to the class that MXNet users catch."""
    try:
        yield
    except (MXNetError, AnygruError, FrontEndFault):
        raise
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        raise MXNetError(str(error)) from error


def py_str(x: bytes) -> str:
    """Bytes as text."""
    return x.decode("utf-8")


def as_list(value: Any) -> list:
    """A list of the items of a list or tuple, or of a single object."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


_as_list = as_list
