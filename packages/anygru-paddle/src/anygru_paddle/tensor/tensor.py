"""`paddle.Tensor`: a torch tensor that answers in Paddle's words.

Two ways were weighed. A wrapper object around a torch tensor would separate the two APIs, but then a parameter would not be a
`torch.Tensor`, and torch optimizers and DistributedDataParallel would refuse it. So a paddle Tensor *is* a torch tensor: a
subclass with Paddle's attributes and methods. It switches `__torch_function__` off, so that a torch operation costs
the same as on a plain tensor and gives a plain tensor, to which `operation.wrap` gives this class in place
(no copy, no node in the graph). Autograd, memory, devices and optimizers are torch's own.

A tensor has the same attributes for every caller. Torch's Python code handles it in optimizers and in
DistributedDataParallel, which use these attributes: `size` is a number that can be called, a dtype equals torch's, and the
methods written in Paddle's way
take torch's keywords (`alpha=`). `base.seams` has the two places where that is not enough. Code that is torch's only, such
as anygru's own layers, is handed `plain(tensor)`.

`methods.py` has the operations that are methods.
"""

import copy
from typing import Any

import numpy as np
import torch

from anygru.extend import leave_graph

from ..base import core, flags, unique_name
from ..base.errors import no_kernel
from ..base.seams import words
from ..framework.dtype import FROM_TORCH, dtype, torch_dtype
from ..framework.kinds import Operand
from .dense import DenseTensor
from .differentiable import Differentiable
from .methods import METHODS
from .moving import recast as recast
from .one_element import OneElement
from .operation import as_torch as as_torch
from .operation import need_tensor, results_are, wrap
from .operation import plain as plain
from .to_string import tensor_to_string

_torch_shape = torch.Tensor.shape.__get__  # type: ignore[attr-defined]
_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_torch_grad = torch.Tensor.grad.__get__  # type: ignore[union-attr]
_torch_data = torch.Tensor.data.__get__  # type: ignore[attr-defined]
_set_torch_data = torch.Tensor.data.__set__  # type: ignore[attr-defined]
_set_torch_grad = torch.Tensor.grad.__set__  # type: ignore[union-attr]


class Size(int):
    """The number of elements, which torch's code may call for the lengths: `t.size()`, `t.size(0)`."""

    _lengths: torch.Size

    def __call__(self, dim: int | None = None) -> torch.Size | int:
        return self._lengths if dim is None else self._lengths[dim]


class Tensor(Differentiable):
    """A tensor of the Paddle dialect; make one with `paddle.to_tensor`, `paddle.ones` and similar functions."""

    __module__ = __name__.partition(".")[0]  # `print(type(x))` says <class 'paddle.Tensor'>
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    __array_priority__ = 1000  # NumPy arrays leave arithmetic with a tensor to the tensor

    @property
    def shape(self) -> list[int]:  # type: ignore[override]
        """The lengths of the axes, a list."""
        return list(_torch_shape(self))

    @property
    def dtype(self) -> dtype:  # type: ignore[override]
        """The element type, such as `paddle.float32`."""
        kind = _torch_dtype(self)
        return kind if words.are_torchs else FROM_TORCH[kind]

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of elements."""
        count = torch.Tensor.numel(self)
        if isinstance(count, torch.SymInt):  # of a pass that `paddle.jit.save` records
            return count
        size = Size(count)
        size._lengths = _torch_shape(self)
        return size

    @property
    def strides(self) -> list[int]:
        """The step of each axis, in elements."""
        return list(self.stride())

    def get_strides(self) -> list[int]:
        """The step of each axis, in elements."""
        return list(self.stride())

    @property
    def place(self) -> core.Place:
        """Where the elements are."""
        return core.Place(self.device)

    @property
    def name(self) -> str:
        """The tensor's name; a result gets one when it is first read."""
        name = self.__dict__.get("_name")
        if name is None:
            name = self._name = unique_name.generate("eager_tmp")
        return name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def persistable(self) -> bool:
        """Whether the tensor outlives the step that made it; True for parameters."""
        return self.__dict__.get("_persistable", False)

    @persistable.setter
    def persistable(self, value: bool) -> None:
        self._persistable = bool(value)

    @property
    def type(self) -> str:  # type: ignore[override]
        """The kind of variable; every tensor here is dense."""
        return "VarType.LOD_TENSOR"

    @property
    def inplace_version(self) -> int:
        """How often the tensor has been changed in place."""
        return self._version

    def is_tensor(self) -> bool:
        """True."""
        return True

    def _is_initialized(self) -> bool:
        return True

    def is_dense(self) -> bool:
        """True."""
        return True

    def value(self) -> "Tensor":
        """The tensor itself."""
        return self

    def get_tensor(self) -> DenseTensor:
        """The memory, without the gradient."""
        return DenseTensor(self)

    def set(self, value: Any, place: core.Place | None = None) -> None:
        """`set_value`, as programs call it on the result of `get_tensor` gives."""
        self.set_value(value)

    @property
    def data(self) -> torch.Tensor:
        """The tensor itself."""
        return self

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        _set_torch_data(self, value)
        if isinstance(value, Tensor):
            self.stop_gradient = value.stop_gradient  # Paddle takes this over with the values

    def numpy(self, *_: Any) -> np.ndarray:  # type: ignore[override]
        """A copy as a NumPy array (bfloat16 as uint16 bit patterns)."""
        value = plain(self.detach())
        if value.dtype == torch.bfloat16:
            value = value.view(torch.uint16)
        array = value.cpu().numpy().copy()
        if array.size != 1:
            return array
        if array.ndim == 0:
            return array.reshape(1) if flags.is_set("FLAGS_set_to_1d") else array
        return array.view(OneElement)

    __array_ufunc__ = None  # np.exp(tensor) is a TypeError, array + tensor a tensor (recorded, 2.6.2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def tolist(self) -> Any:
        """The values as nested Python lists."""
        return plain(self.detach()).tolist()

    def item(self, *position: int) -> Any:
        """The one value, or the value at a flat position or at one position along each axis, as a Python scalar.

        Raises:
            ValueError: if there are several values and no position, or the position is out of range.
        """
        value = plain(self.detach())
        if not position:
            if value.numel() != 1:
                raise ValueError(
                    "(InvalidArgument) only one element tensors can be converted to Python scalars when no input "
                    f"coordinates are given, but this one has {value.numel()}"
                )
            return value.item()
        try:
            return (value.flatten()[position[0]] if len(position) == 1 else value[position]).item()
        except (IndexError, RuntimeError) as error:
            raise ValueError(
                f"(InvalidArgument) item{position} does not name an element of shape {self.shape}"
            ) from error

    def set_value(self, value: Operand) -> None:
        """Overwrite the values in place with a tensor or array of the same shape and dtype.

        Raises:
            AssertionError: if it is neither, or the shape or dtype differs.
        """
        if not isinstance(value, (torch.Tensor, np.ndarray, np.generic)):
            raise AssertionError(
                f"set_value of [{self.name}]: the value must be a Tensor or a numpy array, got {type(value).__name__}"
            )
        new = as_torch(value).detach()
        if list(new.shape) != self.shape:
            raise AssertionError(
                f"Variable Shape not match, Variable [ {self.name} ] need tensor with shape {self.shape} "
                f"but load set tensor with shape {list(new.shape)}"
            )
        if torch_dtype(new.dtype) != _torch_dtype(self):
            raise AssertionError(
                f"Variable dtype not match, Variable [ {self.name} ] need tensor with dtype {self.dtype}  "
                f"but load tensor with dtype {torch_dtype(new.dtype)}".replace("torch.", "paddle.")
            )
        torch.Tensor.copy_(_torch_data(self), new)  # no change that counts in Paddle (recorded, 2.6.2)

    def copy_(self, other: torch.Tensor, blocking: bool = True) -> None:  # type: ignore[override]
        """Copy values and shape of `other` in place (recorded, 2.6.2).

        Raises:
            ValueError: unless it is a tensor.
            RuntimeError: for a tensor of another dtype.
        """
        need_tensor(other, "other", "copy_")
        if _torch_dtype(other) != _torch_dtype(self) and torch.Tensor.numel(self):
            raise no_kernel(
                f"(PreconditionNotMet) Tensor {self.name} has different data type with Tensor {getattr(other, 'name', '')}: "
                f"{self.dtype} and {torch_dtype(other.dtype)}, Tensor Copy cannot be performed!".replace(
                    "torch.", "paddle."
                )
            )
        if not torch.Tensor.numel(self) and isinstance(other, Tensor):
            self.stop_gradient = other.stop_gradient  # an empty tensor takes this over (recorded, 2.6.2)
        if _torch_shape(other) != _torch_shape(self):
            self.data = torch.Tensor.clone(plain(other.detach()))
            return
        with torch.no_grad():
            torch.Tensor.copy_(_torch_data(self), other)

    def _share_buffer_to(self, other: "Tensor") -> None:
        other.data = _torch_data(self)

    def detach(self) -> "Tensor":
        """The same memory outside the gradient graph."""
        return wrap(torch.Tensor.detach(self))

    def detach_(self) -> "Tensor":
        """Leave the gradient graph."""
        leave_graph(self)
        self.__dict__.pop("_left", None)
        return self

    def _only(self, target: str) -> Any:
        if torch.Tensor.numel(self) != 1:
            raise AssertionError(f"only one element variable can be converted to {target}.")
        return plain(self.detach()).item()

    def __float__(self) -> float:
        return float(self._only("float"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __complex__(self) -> complex:
        return complex(self._only("float"))

    def __long__(self) -> int:
        return int(self)

    def __index__(self) -> int:
        return int(self._only("python index"))  # 1.9 is 1 to Paddle 2.6.2 (recorded)

    def __bool__(self) -> bool:
        if torch.Tensor.numel(self) != 1:
            raise AssertionError(
                "When Variable is used as the condition of if/while , Variable can only contain one element."
            )
        value = plain(self.detach()).item()
        return bool(value) if isinstance(value, complex) else value > 0  # -1 is False to Paddle 2.6.2 (recorded)

    __nonzero__ = __bool__

    def __len__(self) -> int:
        if self.ndim == 0:
            # torch has a TypeError here (Paddle 2.6.2, recorded).
            raise AssertionError("len() of a 0-D tensor is wrong")
        return int(_torch_shape(self)[0])

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self) if self.ndim else 0))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *_: Any, **__: Any) -> str:  # type: ignore[override]
        return tensor_to_string(self)

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        if specification:
            # torch formats a number here; Paddle 2.6.2 does not define `__format__` (recorded).
            raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")
        return str(self)

    def _copied(self, memo: dict[int, Any]) -> "Tensor":
        with torch.no_grad():
            new = torch.Tensor.clone(self)
        new.__class__ = type(self)
        for key, value in self.__dict__.items():
            if key != "_left":
                new.__dict__[key] = value if key == "_stop_gradient" else copy.deepcopy(value, memo)
        new.name = self.name + unique_name.generate("_deepcopy")  # type: ignore[attr-defined]  # as Paddle 2.6.2 (recorded)
        new.requires_grad_(self.requires_grad)
        return new  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        if id(self) not in memo:
            memo[id(self)] = self._copied(memo)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), plain(self.detach()), self.requires_grad, dict(self.__dict__))


def _rebuild(kind: type[Tensor], value: torch.Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """Rebuild a pickled tensor from a worker process."""
    value.__class__ = kind
    value.__dict__.update(attributes)
    value.requires_grad_(requires_grad)
    return value  # type: ignore[return-value]


for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
results_are(Tensor)
core.eager.Tensor = Tensor
