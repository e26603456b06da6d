"""Paddle's element types: `paddle.float32`, `paddle.int64` and so on, each naming a torch dtype."""

from typing import Any

import numpy as np
import torch

from anygru.extend import single as single

from ..base.errors import paddles

__all__ = [
    "bfloat16", "complex128", "complex64", "dtype", "finfo", "float16", "float32", "float64", "iinfo", "int16",
    "int32", "int64", "int8", "uint8",
]  # fmt: skip


class dtype:
    """An element type. `str` gives 'paddle.float32'; `repr` gives Paddle's enumeration entry, '<VarType.FP32: 5>'."""

    __slots__ = ("name", "spelling", "torch", "value")

    def __init__(self, spelling: str, name: str, value: int, torch_dtype: torch.dtype) -> None:
        self.spelling = spelling
        self.name = name
        self.value = value
        self.torch = torch_dtype

    @property
    def is_floating_point(self) -> bool:
        """As of `torch.dtype`: torch code that meets a Paddle tensor asks for it."""
        return self.torch.is_floating_point

    @property
    def is_complex(self) -> bool:
        """As of `torch.dtype`."""
        return self.torch.is_complex

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self.torch.itemsize

    # Equal to torch's dtype, for torch code that compares them, and to no string: "float64" is not `paddle.float64` in 2.6.2
    # either (recorded).
    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        return isinstance(other, torch.dtype) and self.torch == other

    def __hash__(self) -> int:
        return hash(self.torch)

    def __str__(self) -> str:
        return "paddle." + self.spelling

    def __repr__(self) -> str:
        return f"<VarType.{self.name}: {self.value}>"

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.spelling,)

    def __deepcopy__(self, memo: dict[int, Any]) -> "dtype":
        return self


bool_ = dtype("bool", "BOOL", 0, torch.bool)
int16 = dtype("int16", "INT16", 1, torch.int16)
int32 = dtype("int32", "INT32", 2, torch.int32)
int64 = dtype("int64", "INT64", 3, torch.int64)
float16 = dtype("float16", "FP16", 4, torch.float16)
float32 = dtype("float32", "FP32", 5, torch.float32)
float64 = dtype("float64", "FP64", 6, torch.float64)
uint8 = dtype("uint8", "UINT8", 20, torch.uint8)
int8 = dtype("int8", "INT8", 21, torch.int8)
bfloat16 = dtype("bfloat16", "BF16", 22, torch.bfloat16)
complex64 = dtype("complex64", "COMPLEX64", 23, torch.complex64)
complex128 = dtype("complex128", "COMPLEX128", 24, torch.complex128)

ALL = (bool_, int16, int32, int64, float16, float32, float64, uint8, int8, bfloat16, complex64, complex128)
FROM_TORCH: dict[torch.dtype, dtype] = {each.torch: each for each in ALL}
# NumPy has no bfloat16: Paddle hands its bits out as uint16 and takes that name for it (recorded, 2.6.2).
_FROM_NAME = {each.spelling: each for each in ALL} | {"uint16": bfloat16}
_FROM_NUMPY = {each.spelling: each for each in ALL if each is not bfloat16}


def _numpy_name(value: Any) -> str:
    try:
        return np.dtype(value).name
    except TypeError:
        return ""


def as_dtype(value: Any) -> dtype:
    """The Paddle dtype that `value` means: a dtype, its name, a NumPy type, `float`/`int`/`bool`, a torch dtype.

    Raises:
        TypeError: for other values; the message names the value and the accepted kinds.
    """
    if isinstance(value, dtype):
        return value
    if isinstance(value, torch.dtype) and value in FROM_TORCH:
        return FROM_TORCH[value]
    if isinstance(value, str):
        name = value.removeprefix("paddle.")
        found = _FROM_NAME.get(name) or _FROM_NUMPY.get(_numpy_name(name))  # "int" and "float" are NumPy's
    elif isinstance(value, (type, np.dtype)):
        found = _FROM_NUMPY.get(_numpy_name(value))
    else:
        found = None
    if found is None:
        raise paddles(
            TypeError(
                f"dtype must be any of [{', '.join(each.spelling for each in ALL)}], but received "
                f"{value if isinstance(value, str) else repr(value)}"
            )
        )
    return found


def torch_dtype(value: Any) -> torch.dtype:
    """The torch dtype that a Paddle dtype, name or NumPy type means."""
    return as_dtype(value).torch


def iinfo(dtype: Any) -> torch.iinfo:
    """Limits of an integer type: `min`, `max`, `bits`."""
    return torch.iinfo(torch_dtype(dtype))


def finfo(dtype: Any) -> torch.finfo:
    """Limits of a floating-point type: `min`, `max`, `eps`, `tiny`, `bits` ..."""
    return torch.finfo(torch_dtype(dtype))
