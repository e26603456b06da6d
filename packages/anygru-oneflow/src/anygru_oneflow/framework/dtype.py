"""OneFlow's data types, devices and sizes: their names, and how they print. Underneath they are torch's."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, SupportsIndex

import torch

from anygru.extend import NUMPY_OF_TORCH

__all__ = [
    "Size", "bfloat16", "convert_oneflow_dtype_to_numpy_dtype", "device", "dtype", "finfo", "float16", "float32", "float64",
    "iinfo", "int32", "int64", "int8", "uint8",
]  # fmt: skip


class dtype:
    """A data type, such as `oneflow.float32`; `torch` is torch's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.torch: torch.dtype = getattr(torch, name)

    @property
    def is_floating_point(self) -> bool:
        return self.torch.is_floating_point

    @property
    def is_complex(self) -> bool:
        return self.torch.is_complex

    @property
    def is_signed(self) -> bool:
        return self.torch.is_signed

    @property
    def bytes(self) -> int:
        """The size of a value in bytes."""
        return self.torch.itemsize

    def __repr__(self) -> str:
        return f"oneflow.{self.name}"

    def __reduce__(self) -> str:
        # A name of this module, under which pickle finds the object.
        return "bool_" if self.name == "bool" else self.name


bool_ = dtype("bool")
uint8 = dtype("uint8")
int8 = dtype("int8")
int32 = dtype("int32")
int64 = dtype("int64")
float16 = dtype("float16")
bfloat16 = dtype("bfloat16")
float32 = dtype("float32")
float64 = dtype("float64")

_OF_TORCH = {known.torch: known for known in (bool_, uint8, int8, int32, int64, float16, bfloat16, float32, float64)}


def of_torch(known: torch.dtype) -> dtype:
    """OneFlow's name for torch's type.

    Raises:
        RuntimeError: OneFlow 0.9 has no such type, and raises this for an array or a result of it (recorded).
    """
    if known not in _OF_TORCH:
        raise RuntimeError(f"OneFlow has no data type for {known}")
    return _OF_TORCH[known]


def convert_oneflow_dtype_to_numpy_dtype(oneflow_dtype: dtype) -> type:
    """NumPy's type of the same values."""
    if not isinstance(oneflow_dtype, dtype):
        raise NotImplementedError(f"OneFlow has no data type {oneflow_dtype!r}")
    return NUMPY_OF_TORCH[oneflow_dtype.torch].type


class Size(tuple[int, ...]):
    """A shape."""

    def __new__(cls, sizes: Iterable[int] = ()) -> "Size":
        size = super().__new__(cls, sizes)
        for place, item in enumerate(size):
            if not isinstance(item, int):
                raise TypeError(
                    f"oneflow.Size() takes an iterable of 'int', but item '{place}' is '{type(item).__name__}'"
                )
        return size

    def numel(self) -> int:
        """The number of elements of such a tensor."""
        return torch.Size(self).numel()

    def __repr__(self) -> str:
        return f"oneflow.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> "Size":
        return Size(super().__add__(tuple(other)))

    def __mul__(self, times: SupportsIndex) -> "Size":
        return Size(super().__mul__(times))

    __rmul__ = __mul__


DeviceLike = str | int | torch.device


class _DeviceType(type):
    def __call__(cls, kind: DeviceLike, index: int | None = None) -> torch.device:
        if isinstance(kind, torch.device):
            return indexed(kind)
        name, _, number = str(kind).partition(":")
        if name not in ("cpu", "cuda"):
            raise RuntimeError(f"Expected one of cpu, cuda device type at start of device string: {kind}")
        return torch.device(name, int(number) if number else index or 0)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.device)


class device(metaclass=_DeviceType):
    """`device("cuda", 1)` or `device("cuda:1")`: a torch.device that always has an index."""


def indexed(place: torch.device) -> torch.device:
    """The device as OneFlow shows it: `cpu` is `cpu:0`."""
    return place if place.index is not None else torch.device(place.type, 0)


# `cpu:0` and `cpu` are different devices for torch when it compares them.
_CPU = torch.device("cpu")


def plain(value: Any) -> Any:
    """The value as torch takes it; `cpu:0` as the `cpu` of torch's tensors, to which they need not be copied."""
    if isinstance(value, dtype):
        return value.torch
    if isinstance(value, torch.device) and value.type == "cpu":
        return _CPU
    return value


def translated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch that takes OneFlow's data types."""

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return function(*map(plain, arguments), **{name: plain(value) for name, value in keywords.items()})

    return call


_WRAPPED = {torch.uint8: 8, torch.int8: 8, torch.int32: 32, torch.int64: 64}


def stored(value: Any, known: torch.dtype) -> Any:
    """A number as a tensor of this type stores it: whole numbers wrap around, as C++ converts them on x86.

    Torch refuses a number that the type cannot hold. OneFlow 0.9.0 goes through int64, where NaN and values out of range become
    the least int64 (recorded).
    """
    if type(value) not in (int, float):
        return value
    if known in _WRAPPED:
        whole = int(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)
        bits = _WRAPPED[known]
        wrapped = whole % 2**bits
        return wrapped - 2**bits if known is not torch.uint8 and wrapped >= 2 ** (bits - 1) else wrapped
    if known in (torch.float16, torch.bfloat16):
        return float(torch.tensor(value, dtype=torch.float32).to(known))  # infinite where it is too large
    return value


class iinfo:
    """The limits of a type of whole numbers."""

    _SHOWN: tuple[str, ...] = ("min", "max")

    def __init__(self, type: dtype) -> None:
        self._limits: Any = torch.iinfo(plain(type))
        self._type = type

    def __getattr__(self, name: str) -> Any:
        if name in (*self._SHOWN, "bits", "dtype"):
            return getattr(self._limits, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        limits = ", ".join(f"{name}={self._text(getattr(self, name))}" for name in self._SHOWN)
        return f"{type(self).__name__}({limits}, dtype={self._type}, bits={self.bits})"

    @staticmethod
    def _text(limit: Any) -> str:
        return str(limit) if isinstance(limit, int) else f"{limit:g}"


class finfo(iinfo):
    """The limits of a floating-point type, by default of the default type."""

    _SHOWN = ("resolution", "min", "max", "eps", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        self._type = of_torch(torch.get_default_dtype()) if type is None else type
        self._limits = torch.finfo(plain(self._type))
