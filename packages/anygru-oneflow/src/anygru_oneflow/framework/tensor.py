"""`oneflow.Tensor`: torch's tensor under OneFlow's names for types, sizes and layouts.

The classes are subclasses of torch.Tensor without further state, so `dress` converts a result of torch by assigning its
class: the tensor, its gradient and its place in the autograd graph stay the same object. Every operator of
torch called on them gives them again. A global tensor is torch's DTensor in the same way.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partialmethod
from typing import Any, SupportsIndex

import numpy as np
import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor

from anygru.extend import is_release, leave_graph

from ..processes import global_tensor
from ..sbp import Layout
from . import layouts, tensor_str
from .dressing import DRESSED, as_in_programs, copied, dress, dress_as_torch, in_order, torch_dtype
from .dtype import DeviceLike, Size, dtype, of_torch, plain
from .over_processes import OverProcesses, placed
from .placement import placement
from .released import SPENT, released, serves_once

_DATA: Any = torch.Tensor.data
_REQUIRES_GRAD: Any = torch.Tensor.requires_grad

_TYPE_NAMES = {
    torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16",
    torch.int64: "Long", torch.int32: "Int", torch.int8: "Char", torch.uint8: "Byte", torch.bool: "Bool",
}  # fmt: skip


class Tensor(OverProcesses):
    """A local or global tensor. `Tensor(values)` has the default type, or the tensor's; `Tensor(2, 3)` has that shape."""

    def __new__(
        cls,
        *values: Any,
        device: DeviceLike | None = None,
        placement: placement | None = None,
        sbp: Layout | None = None,
        size: Sequence[int] | None = None,
    ) -> "Tensor":
        made = placed(cls._of(values if size is None else (Size(size),)), placement, sbp)
        return made if device is None else made.to(device)

    @staticmethod
    def _of(values: tuple[Any, ...]) -> "Tensor":
        if len(values) == 1 and isinstance(values[0], Size):
            values = values[0]
        if values and all(isinstance(value, (int, np.integer)) for value in values):
            # torch leaves the memory unwritten; zeros make a program's mistake repeatable.
            return dress(torch.zeros(tuple(map(int, values))))
        if len(values) > 1:
            raise TypeError(f"Tensor() takes values or the sizes of a shape, got {values}")
        if values and isinstance(values[0], torch.Tensor):
            return dress(copied(values[0]))
        given = copied(values[0]) if values else []
        if isinstance(given, complex):  # 0.9.0 takes the real part (recorded)
            given = given.real
        return dress(torch.as_tensor(math.nan if given is None else given, dtype=torch.get_default_dtype()))

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Iterable[type], args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            result = in_order(function(*args, **(kwargs or {})), args)
            if type(result) is tuple or not torch.is_grad_enabled():
                result = _changeable(result, function, args, kwargs or {})
            return dress(result)

    # By `item`: torch's own methods warn for a number with gradients, such as a loss that a program prints.
    def __float__(self) -> float:
        assert self.numel() == 1, f"float() takes a tensor of one element, got {tuple(self.shape)}"
        return float(self.item())

    def __int__(self) -> int:
        assert self.numel() == 1, f"int() takes a tensor of one element, got {tuple(self.shape)}"
        return int(self.item())

    # Names of types and places

    def type(self, target: Any = None) -> Any:  # type: ignore[override]
        if target is None:
            prefix = "" if self.is_global or self.device.type == "cpu" else "cuda."
            return f"oneflow.{prefix}{_TYPE_NAMES[torch_dtype(self)]}Tensor"
        if isinstance(target, str):
            names = {f"oneflow.{name}Tensor": known for known, name in _TYPE_NAMES.items()}
            if target not in names:
                raise ValueError(f"type: {target!r} is not a tensor type of OneFlow, such as {', '.join(names)}")
            return self.to(of_torch(names[target]))
        if isinstance(target, type):
            return self.type(f"oneflow.{target.__name__}")
        return self.to(target)

    def to(self, *args: Any, **kwargs: Any) -> "Tensor":
        if args and isinstance(args[0], type):  # `to(oneflow.Tensor)` of a graph's parameter
            return self
        if "other" in kwargs:
            args = (kwargs.pop("other"), *args)
        given = [plain(value) for value in args if value is not None or len(args) > 2]  # more are torch's own calls
        named = {name: plain(value) for name, value in kwargs.items() if value is not None}
        return super().to(*given, **named)  # type: ignore[return-value]

    def cast(self, dtype: dtype, pin_memory: bool = False) -> "Tensor":
        return self.to(dtype)

    # Values

    def numpy(self) -> np.ndarray:  # type: ignore[override]
        """The values, of all processes for a global tensor; of a local one on the CPU they are shared, not copied."""
        return torch.Tensor.numpy(self._whole().cpu().as_subclass(torch.Tensor))

    to_numpy = numpy

    # `array + tensor`, `numpy.float32(2) * tensor` and `numpy.exp(tensor)` give arrays. NumPy's numbers have -1,000,000.
    __array_priority__ = -2_000_000

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return np.asarray(self.numpy(), dtype=dtype)

    def __len__(self) -> int:
        return self.shape[0] if self.dim() else 0  # recorded in 0.9.0, where torch raises

    def __iter__(self) -> Iterator[Any]:
        if not self.dim():
            raise RuntimeError("select() cannot be applied to a 0-dim tensor.")
        if isinstance(self, DTensor):
            return (self[number] for number in range(len(self)))
        return super().__iter__()

    @property
    def data(self) -> "Tensor":
        """The same values outside of the autograd graph; to set it is to drop the gradient."""
        with torch._C.DisableTorchFunctionSubclass():
            return dress(_DATA.__get__(self))

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        if not self.is_leaf:
            raise RuntimeError("Can only set leaf tensor's data.")
        with torch._C.DisableTorchFunctionSubclass():
            # torch keeps the gradient of the old values; 0.9.0 drops it (recorded).
            _DATA.__set__(self, value)
            self.grad = None

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        return super().item() if self.is_local else self._whole().item()

    def __repr__(self) -> str:  # type: ignore[override]
        with torch.no_grad():
            return tensor_str.text(self)

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return format(self.item(), specification) if self.dim() == 0 else object.__format__(self, specification)

    # The autograd graph

    def backward(  # type: ignore[override]
        self, gradient: torch.Tensor | None = None, retain_graph: bool = False, create_graph: bool = False
    ) -> None:
        """Add to the gradients of the leaves. The graph serves once, unless retain_graph or create_graph is given."""
        step: Any = self.grad_fn
        if step is not None and SPENT in step.metadata:
            raise released()
        if gradient is None and isinstance(self, DTensor) and self.dim() == 0:
            # The gradient of a loss by itself is 1. Torch would make it by one more call of a global operator.
            gradient = global_tensor.gradient_of(self, self._local_tensor.new_ones(()))
        try:
            super().backward(gradient, retain_graph or create_graph, create_graph)
        except RuntimeError as error:
            raise released() if is_release(error) else error from None
        if step is not None and not (retain_graph or create_graph) and serves_once(step):
            step.metadata[SPENT] = True

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Set whether it requires a gradient. False takes the result of an operator out of the graph, as in OneFlow 0.9.0."""
        if not (requires_grad or self.is_leaf or self.is_global):
            leave_graph(self)
        super().requires_grad_(requires_grad)
        if requires_grad and isinstance(self, DTensor) and self.is_leaf:
            global_tensor.keep_gradient_layout(self)
        return self

    def register_hook(self, hook: "Callable[[Tensor], Any]") -> None:
        """Call the hook with each gradient; for a leaf twice with the same one, as OneFlow 0.9 does, which gives no handle."""

        def call(gradient: torch.Tensor) -> Any:
            with as_in_programs():
                if self.is_leaf:
                    hook(dress(gradient))
                return hook(dress(gradient))

        self._refuse_to_be_passed("register_hook")
        super().register_hook(call)

    def retain_grad(self) -> None:
        self._refuse_to_be_passed("retain_grad")
        super().retain_grad()

    def _refuse_to_be_passed(self, method: str) -> None:
        """Let the gradients of later operators go through this tensor. Otherwise they may go through its pieces."""
        if isinstance(self, DTensor) and global_tensor.forget_piece(self):
            raise RuntimeError(f"{method}() of a global tensor must be called before an operator takes the tensor")

    def softplus(self, beta: float, threshold: float) -> Any:
        """As the function, which alone has defaults in OneFlow 0.9.0 (recorded)."""
        return F.softplus(self, beta, threshold)

    def _zero_grad_(self, set_to_none: bool = False) -> None:
        gradient: Any = self.grad
        if isinstance(gradient, DTensor) and not set_to_none:
            gradient._local_tensor.zero_()
        elif self.grad is not None:
            self.grad = None if set_to_none else self.grad.detach().zero_()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        """A copy of the values, without a gradient; only a parameter still requires one."""
        twin: Any = self.detach().clone()
        twin.__class__ = type(self)
        twin.requires_grad_(isinstance(self, Parameter) and self.requires_grad)
        memo[id(self)] = twin
        return twin

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        if self.is_global:
            raise RuntimeError("a global tensor is saved by oneflow.save(..., global_dst_rank=0)")
        values = torch.Tensor.detach(self).as_subclass(torch.Tensor)
        return _rebuilt, (isinstance(self, Parameter), values, self.requires_grad)


def _changeable(result: Any, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Let a program change a result in place where OneFlow does, and torch does not.

    torch refuses changes of the parts of a split, and of views of a tensor in a graph that were made without gradients.
    """
    if isinstance(result, tuple):
        if not torch.is_grad_enabled():
            return tuple(_changeable(part, function, args, kwargs) for part in result)
        name = getattr(function, "__name__", "")
        whole = args[0] if args else kwargs.get("input", kwargs.get("tensor"))
        if name not in _PARTS or whole is None or not whole.requires_grad:
            return result
        place = _PARTS[name]
        dim = args[place] if len(args) > place else kwargs.get("dim", 0)
        if name == "unbind":
            return tuple(whole.select(dim, number) for number in range(len(result)))
        ends = itertools.accumulate(part.size(dim) for part in result)
        return tuple(
            whole.narrow(dim, end - part.size(dim), part.size(dim)) for part, end in zip(result, ends, strict=True)
        )
    if not isinstance(result, torch.Tensor) or not result._is_view() or any(result is value for value in args):
        return result
    return result.detach() if result._base.requires_grad else result  # type: ignore[union-attr]


# Functions that return parts of a tensor, and the place of the argument `dim`.
_PARTS = {"split": 2, "chunk": 2, "unbind": 1}


# Functions of torch that are methods in OneFlow.
for _method in (F.gelu, F.mish, F.selu, F.silu, F.softsign):
    setattr(Tensor, _method.__name__, partialmethod(_method))


class Parameter(Tensor):
    """A tensor that a Module lists among its parameters."""

    # By this torch.nn.Module recognises a parameter.
    _is_param = True

    def __new__(cls, data: torch.Tensor, requires_grad: bool = True) -> "Parameter":
        if not isinstance(data, torch.Tensor):
            raise TypeError(f"Parameter needs a tensor, got {type(data).__name__}")
        # torch refuses a parameter of whole numbers that requires a gradient; 0.9.0 makes it without (recorded).
        differentiable = torch_dtype(data).is_floating_point
        return as_parameter(torch.nn.Parameter(dress_as_torch(data.detach()), requires_grad and differentiable))


class _Global:
    """Methods of global tensors only."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Iterable[type], args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return dress(layouts.call(function, args, kwargs or {}))

    def __bool__(self) -> bool:
        return bool(self.item())  # type: ignore[attr-defined]

    @property
    def requires_grad(self) -> bool:
        with torch._C.DisableTorchFunctionSubclass():
            return _REQUIRES_GRAD.__get__(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)  # type: ignore[attr-defined]

    @property
    def device(self) -> torch.device:
        # torch's own code, which asks for the device of a DTensor, runs with this switched off.
        if torch._C._is_torch_function_enabled():
            raise RuntimeError("Only local tensors have 'device'. Please use '.placement' for global tensors.")
        return _DEVICE(self)


class _GlobalTensor(_Global, Tensor, DTensor):  # type: ignore[override]
    """A tensor over several processes."""


class _GlobalParameter(_Global, Parameter, DTensor):  # type: ignore[override]
    """A parameter over several processes."""


_DEVICE = torch.Tensor.device.__get__


# By the names that OneFlow prints.
Tensor.__module__, Parameter.__module__ = "oneflow", "oneflow.nn"
for _kind, _like in ((_GlobalTensor, Tensor), (_GlobalParameter, Parameter)):
    _kind.__name__, _kind.__qualname__, _kind.__module__ = _like.__name__, _like.__name__, _like.__module__

DRESSED.update({torch.Tensor: Tensor, DTensor: _GlobalTensor})


def as_parameter(parameter: torch.nn.Parameter) -> Parameter:
    """torch's parameter object as OneFlow's."""
    dressed: Any = parameter
    if isinstance(parameter, DTensor):
        dressed.__class__ = _GlobalParameter
        global_tensor.keep_gradient_layout(parameter)
    else:
        dressed.__class__ = Parameter
    return dressed


def _rebuilt(is_parameter: bool, values: torch.Tensor, requires_grad: bool) -> Tensor:
    tensor = values.detach()
    tensor.__class__ = Parameter if is_parameter else Tensor
    return tensor.requires_grad_(requires_grad)  # type: ignore[return-value]
