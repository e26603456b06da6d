"""CUDA devices by number, and an array on a GPU: a torch CUDA tensor with the interface of NumPy's arrays.

It takes the place of `cupy.ndarray`: `Variable.array` gives it on a GPU. It covers indexing, arithmetic, reductions,
casts, `get` and `set`.
"""

from typing import Any

import numpy
import torch
from numpy.typing import DTypeLike

from anygru.extend import NUMPY_OF_TORCH, TORCH_OF_NUMPY

available: bool = torch.cuda.is_available()


def check_cuda_available() -> None:
    """Raise RuntimeError unless torch finds a CUDA device."""
    if not available:
        raise RuntimeError(
            "CUDA environment is not correctly set up: torch finds no CUDA device "
            "(torch.cuda.is_available() is False). Stay on the CPU with to_device('@numpy')."
        )


class Device:
    """A CUDA device by number; as a context manager it is the current device inside."""

    def __init__(self, device: int | None = None) -> None:
        check_cuda_available()
        self.id = torch.cuda.current_device() if device is None else int(device)
        if not 0 <= self.id < torch.cuda.device_count():
            raise ValueError(f"there is no CUDA device {self.id}: torch sees {torch.cuda.device_count()}")
        self._contexts: list[Any] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> "Device":
        context = torch.cuda.device(self.id)
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *args: Any) -> None:
        self._contexts.pop().__exit__(*args)

    def use(self) -> None:
        """Make this the current device."""
        torch.cuda.set_device(self.id)

    def synchronize(self) -> None:
        """Wait until the device has done all its work."""
        torch.cuda.synchronize(self.id)


def torch_dtype(dtype: DTypeLike | None) -> torch.dtype:
    """The torch dtype of a NumPy dtype specifier (TypeError if torch does not support it on a GPU)."""
    try:
        return TORCH_OF_NUMPY[numpy.dtype(dtype)]
    except KeyError:
        raise TypeError(f"an array on a GPU cannot have the dtype {numpy.dtype(dtype)}") from None


def unwrap(value: Any) -> Any:
    """The tensor of an array; also inside tuples, and of NumPy arrays that serve as indices. Other values are returned
    unchanged."""
    if isinstance(value, ndarray):
        return value.tensor
    if isinstance(value, tuple):
        return tuple(unwrap(item) for item in value)
    if isinstance(value, numpy.ndarray):
        return torch.from_numpy(value) if value.ndim else value.item()
    return value.item() if isinstance(value, numpy.generic) else value


def wrap(value: Any) -> Any:
    """An array around a tensor; other values are returned unchanged."""
    return ndarray(value) if isinstance(value, torch.Tensor) else value


class ndarray:
    """A torch tensor with NumPy's manners. `tensor` is the tensor itself."""

    __array_priority__ = 100
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.detach()

    shape = property(lambda self: tuple(self.tensor.shape))
    dtype = property(lambda self: NUMPY_OF_TORCH[self.tensor.dtype])
    ndim = property(lambda self: self.tensor.ndim)
    size = property(lambda self: self.tensor.numel())
    device = property(lambda self: Device(self.tensor.device.index))
    T = property(lambda self: self.transpose())

    def get(self, stream: Any = None) -> numpy.ndarray:
        """A NumPy copy."""
        return self.tensor.detach().cpu().numpy()  # the tensor may require a gradient since its array was created

    def set(self, array: numpy.ndarray, stream: Any = None) -> None:
        """Write the values of a NumPy array of the same shape."""
        if tuple(array.shape) != self.shape:
            raise ValueError(f"the array must have the shape {self.shape}, got {array.shape}")
        self.tensor.copy_(torch.from_numpy(numpy.ascontiguousarray(array)))

    def copy(self) -> "ndarray":
        return ndarray(self.tensor.clone())

    def astype(self, dtype: DTypeLike | None, copy: bool = True) -> "ndarray":
        if not copy and numpy.dtype(dtype) == self.dtype:
            return self
        return ndarray(self.tensor.to(torch_dtype(dtype), copy=True))

    def fill(self, value: Any) -> None:
        self.tensor.fill_(unwrap(value))

    def item(self) -> Any:
        return self.tensor.item()

    def tolist(self) -> Any:
        return self.tensor.tolist()

    def reshape(self, *shape: Any) -> "ndarray":
        return ndarray(self.tensor.reshape(*shape))

    def ravel(self) -> "ndarray":
        return self.reshape(-1)

    flatten = ravel

    def transpose(self, *axes: Any) -> "ndarray":
        if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
            axes = tuple(axes[0])
        return ndarray(self.tensor.permute(axes or tuple(reversed(range(self.ndim)))))

    def dot(self, other: Any) -> "ndarray":
        return ndarray(self.tensor @ unwrap(other))

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "ndarray":
        return ndarray(self.tensor.sum(_axes(self, axis), keepdim=keepdims))

    def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "ndarray":
        return ndarray(self.tensor.mean(_axes(self, axis), keepdim=keepdims))

    def max(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "ndarray":
        return ndarray(self.tensor.amax(_axes(self, axis), keepdim=keepdims))

    def min(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "ndarray":
        return ndarray(self.tensor.amin(_axes(self, axis), keepdim=keepdims))

    def std(self, axis: int | tuple[int, ...] | None = None) -> "ndarray":
        return ndarray(self.tensor.std(_axes(self, axis), correction=0))

    def argmax(self, axis: int | None = None) -> "ndarray":
        return ndarray(self.tensor.argmax(axis))

    def argmin(self, axis: int | None = None) -> "ndarray":
        return ndarray(self.tensor.argmin(axis))

    def any(self) -> "ndarray":
        return ndarray(self.tensor.any())

    def all(self) -> "ndarray":
        return ndarray(self.tensor.all())

    def clip(self, low: Any = None, high: Any = None) -> "ndarray":
        return ndarray(self.tensor.clamp(low, high))

    def __getitem__(self, key: Any) -> "ndarray":
        return ndarray(self.tensor[unwrap(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        value = unwrap(value)
        # torch copies only between tensors of one device, and a NumPy array is on the CPU.
        self.tensor[unwrap(key)] = value.to(self.tensor) if isinstance(value, torch.Tensor) else value

    def __len__(self) -> int:
        return len(self.tensor)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __array__(self, dtype: DTypeLike | None = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed; use `array.get()`")

    def __reduce__(self) -> Any:
        return _from_numpy, (self.get(), self.tensor.device.index)

    def __deepcopy__(self, memo: Any) -> "ndarray":
        return self.copy()


def _from_numpy(array: numpy.ndarray, device: int) -> ndarray:
    return ndarray(torch.from_numpy(array).to(f"cuda:{device}"))


def _axes(array: ndarray, axis: int | tuple[int, ...] | None) -> Any:
    return tuple(range(array.ndim)) if axis is None else axis


def _install_operators() -> None:
    names = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
    for name in [
        *names,
        *("r" + name for name in names if name != "mod"),
        *(["lt", "le", "eq", "ne", "gt", "ge", "and", "or", "xor"]),
    ]:
        method = f"__{name}__"

        def operate(self: ndarray, other: Any, method: str = method) -> Any:
            return wrap(getattr(self.tensor, method)(unwrap(other)))

        setattr(ndarray, method, operate)
    for name in ["add", "sub", "mul", "truediv"]:
        in_place = f"__i{name}__"

        def update(self: ndarray, other: Any, in_place: str = in_place) -> ndarray:
            getattr(self.tensor, in_place)(unwrap(other))
            return self

        setattr(ndarray, in_place, update)
    for name in ["neg", "abs", "invert"]:
        method = f"__{name}__"
        setattr(ndarray, method, lambda self, method=method: wrap(getattr(self.tensor, method)()))


_install_operators()
