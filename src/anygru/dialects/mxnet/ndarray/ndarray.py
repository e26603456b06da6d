"""`mx.nd.NDArray`: a torch tensor under MXNet's rules.

The array wraps a tensor and never is one: MXNet's sizes, dtypes, result shapes, memory sharing and gradients differ from
torch's in too many places for a subclass.  Whatever MXNet copies is copied, and what it shares (reshapes by method, rows,
contiguous slices, `detach`) is a view.
"""

import math
import operator as python_operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base import NUMPY_OF_TORCH, MXNetError, engine_errors, numeric_types, torch_dtype
from ..context import Context, as_context
from ..operators import OPERATORS, Operator
from ..operators.elementwise import BINARY, _number
from ..operators.shape import new_shape
from ..state import state, without_torch_grad
from . import indexing
from .scalars import scalar, singles
from .tape import remember

_IN_GRAPH = (
    "Assigning to NDArrays that are already in a computational graph will cause undefined behavior when evaluating "
    "gradients. Please call backward first to clear the graph or do this out side of a record section."
)
_IN_PLACE = "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd."


class NDArray:
    """An array of MXNet on a context.

    Args:
        tensor: the values.
        ctx: the context it says it is on; the current one by default.
    """

    __slots__ = ("__weakref__", "_ctx", "_fresh", "_grad", "_t")
    __array_priority__ = 1000.0

    def __init__(self, tensor: Tensor, ctx: Context | None = None) -> None:
        self._t = tensor
        self._ctx = as_context(ctx)
        self._grad: NDArray | None = None
        self._fresh = False

    # ---- facts

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(self._t.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._t.dim()

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._t.numel()

    @property
    def dtype(self) -> type:
        """The NumPy type of the elements."""
        return NUMPY_OF_TORCH[self._t.dtype]

    @property
    def context(self) -> Context:
        """The context it is on."""
        return self._ctx

    ctx = context

    @property
    def stype(self) -> str:
        """Always "default": anygru has no sparse arrays."""
        return "default"

    @property
    def T(self) -> "NDArray":
        """The axes in reverse order, copied."""
        return self if self._t.dim() < 2 else call(OPERATORS["transpose"], (self,), {})

    @property
    def grad(self) -> "NDArray | None":
        """The gradient that the last `backward` left, or None without `attach_grad`."""
        return self._grad

    @property
    def _fresh_grad(self) -> bool:
        return self._grad is not None and self._grad._fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if self._grad is not None:
            self._grad._fresh = bool(fresh)

    def __len__(self) -> int:
        return self._t.shape[0]

    def __bool__(self) -> bool:
        if self._t.numel() == 0:
            return False
        if self._t.numel() == 1:
            return bool(self._t.item())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def __hash__(self) -> int:
        return id(self) // 16

    def __repr__(self) -> str:
        sizes = "x".join(str(n) for n in self.shape)
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {sizes} @{self._ctx}>"

    def __reduce__(self) -> tuple:
        return (_rebuild, (self.asnumpy(), self._ctx))

    def __copy__(self) -> "NDArray":
        return self.copy()

    def __deepcopy__(self, memo: dict) -> "NDArray":
        return self.copy()

    def __iter__(self) -> Iterator["NDArray"]:
        return (self[i] for i in range(len(self)))

    # ---- values

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy."""
        return singles(self._t.detach().cpu().numpy().copy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.asnumpy() if dtype is None else self.asnumpy().astype(dtype)

    def asscalar(self) -> Any:
        """The one element as a NumPy scalar; of an array of several axes, as a NumPy array of as many.

        Raises:
            ValueError: for an array of several elements.
        """
        if self._t.numel() != 1:
            raise ValueError("The current array is not a scalar")
        return scalar(self.dtype(self._t.item())) if self._t.dim() == 1 else self.asnumpy()[()]

    def astype(self, dtype: Any, copy: bool = True) -> "NDArray":
        """The array in another dtype: a copy, unless `copy` is False and nothing changes."""
        kind = torch_dtype(dtype)
        if not copy and kind == self._t.dtype:
            return self
        return call(OPERATORS["cast"], (self,), {"dtype": dtype})

    def copyto(self, other: "NDArray | Context") -> "NDArray | bool":
        """Copy into another array, which is returned, or to a context."""
        if isinstance(other, NDArray):
            if other is self:
                warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
                return False
            with engine_errors():
                write(other, self._t.to(other._t.dtype).to(other._t.device))
            return other
        if isinstance(other, Context):
            return wrap(run(lambda t: _move(t, other), self._t), other)
        raise TypeError(f"copyto does not support type {type(other)}")

    def copy(self) -> "NDArray":
        """A copy on the same context."""
        return wrap(run(lambda t: _move(t, self._ctx), self._t), self._ctx)

    def as_in_context(self, context: Context) -> "NDArray":
        """The array itself if it is on the context already, else a copy there."""
        if self._ctx == context:
            return self
        return wrap(run(lambda t: _move(t, context), self._t), context)

    as_in_ctx = as_in_context

    def wait_to_read(self) -> None:
        """Wait until the values are computed."""
        if self._t.is_cuda:
            torch.cuda.synchronize(self._t.device)

    def as_nd_ndarray(self) -> "NDArray":
        """The array itself."""
        return self

    def tostype(self, stype: str) -> "NDArray":
        """The array itself for "default".

        Raises:
            NotImplementedError: for sparse storage.
        """
        if stype != "default":
            raise NotImplementedError(f"anygru has no sparse arrays ({stype!r}); in PyTorch: torch.sparse")
        return self

    # ---- gradients

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make the array a variable that `backward` leaves a gradient for; it leaves any graph it was in."""
        if grad_req not in ("write", "add", "null"):
            raise KeyError(grad_req)
        if stype not in (None, "default"):
            raise NotImplementedError(f"anygru has no sparse gradients ({stype!r})")
        mark(self, wrap(torch.zeros_like(self._t.detach()), self._ctx), grad_req)

    def detach(self) -> "NDArray":
        """The same values outside any graph, sharing memory."""
        return wrap(self._t.detach(), self._ctx)

    def backward(self, out_grad: "NDArray | None" = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Gradients of every variable that this array was computed from; `out_grad` is ones by default."""
        from ..autograd import backward

        backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    def to_dlpack_for_read(self) -> object:
        """The array as a DLPack capsule."""
        return self._t.detach().__dlpack__()

    to_dlpack_for_write = to_dlpack_for_read

    # ---- shapes

    def reshape(self, *shape: Any, **kwargs: Any) -> "NDArray":
        """Another shape over the same memory; 0, -1, -2, -3 and -4 mean what they mean in `mx.nd.reshape`.

        Raises:
            ValueError: for a shape of another size.
            MXNetError: for codes that do not fit.
        """
        for key in kwargs:
            if key not in ("shape", "reverse"):
                raise AssertionError(
                    f"Got unknown keywords in reshape: {key}. Accepted keyword arguments are 'shape' and 'reverse'."
                )
        if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
            shape = tuple(shape[0])
        elif not shape:
            given = kwargs.get("shape")
            assert given, "Shape must be provided."
            shape = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        old = tuple(self._t.shape)
        wanted = new_shape(old, tuple(int(n) for n in shape), bool(kwargs.get("reverse", False)))
        size, before = math.prod(wanted), self._t.numel()
        if size != before:
            # MXNet's engine refuses more elements than there are; its Python front end, fewer.
            error: type[Exception] = MXNetError if size > before or -1 in shape else ValueError
            raise error(f"Cannot reshape array of size {before} into shape {tuple(shape)}")
        return wrap(run(lambda t: t.reshape(wanted), self._t), self._ctx)

    def broadcast_to(self, shape: tuple[int, ...]) -> "NDArray":
        """The array repeated along axes of size 1.

        Raises:
            ValueError: for a shape it cannot be broadcast to.
        """
        old = (1,) * (len(shape) - self.ndim) + self.shape
        if len(shape) < self.ndim or any(o not in (1, n) for o, n in zip(old, shape, strict=True)):
            raise ValueError(
                "operands could not be broadcast together with remapped shapes[original->remapped]: "
                f"{self.shape} and requested shape {tuple(shape)}"
            )
        return call(OPERATORS["broadcast_to"], (self,), {"shape": tuple(shape)})

    def broadcast_like(self, other: "NDArray") -> "NDArray":
        """The array repeated to the other's shape."""
        return self.broadcast_to(other.shape)

    def expand_dims(self, axis: int, inplace: bool = False) -> "NDArray":
        """One more axis of size 1."""
        return call(OPERATORS["expand_dims"], (self,), {"axis": axis})

    def squeeze(self, axis: Any = None, inplace: bool = False) -> "NDArray":
        """Without the axes of size 1."""
        return call(OPERATORS["squeeze"], (self,), {"axis": axis})

    def flatten(self, inplace: bool = False) -> "NDArray":
        """Two dimensions: the first, and all others in one."""
        return call(OPERATORS["Flatten"], (self,), {})

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> "list[NDArray]":
        """The array cut into equal parts, or at positions."""
        if isinstance(indices_or_sections, int):
            attributes: dict[str, Any] = {"num_outputs": indices_or_sections}
            return call(OPERATORS["SliceChannel"], (self,), {**attributes, "axis": axis, "squeeze_axis": squeeze_axis})
        attributes = {"indices": (0, *indices_or_sections)}
        return call(OPERATORS["_split_v2"], (self,), {**attributes, "axis": axis, "squeeze_axis": squeeze_axis})

    def __getitem__(self, key: Any) -> "NDArray":
        if key is Ellipsis or (type(key) is tuple and not key) or (type(key) is slice and key == slice(None)):
            return self
        return wrap(run(indexing.get, self._t, key), self._ctx)

    def __setitem__(self, key: Any, value: Any) -> None:
        if state.recording and self._t.requires_grad:
            raise MXNetError(_IN_GRAPH)
        if isinstance(value, NDArray):
            value = value._t
        if not (state.recording and isinstance(value, Tensor) and value.requires_grad):
            without_torch_grad(indexing.put, self._t.data, key, value)
        elif key is Ellipsis or (isinstance(key, slice) and key == slice(None)):
            indexing.put(self._t, key, value)
            remember(self)
        else:
            raise MXNetError(_IN_PLACE)

    def slice_assign(self, rhs: "NDArray", begin: tuple, end: tuple, step: tuple) -> "NDArray":
        """Write an array into a slice."""
        self[tuple(slice(*three) for three in zip(begin, end, step, strict=True))] = rhs
        return self

    slice_assign_scalar = slice_assign

    # ---- arithmetic: with arrays (broadcasting) and numbers

    def __add__(self, other: Any) -> "NDArray":
        return arithmetic("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "NDArray":
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> "NDArray":
        return arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> "NDArray":
        return arithmetic("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "NDArray":
        return arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> "NDArray":
        return arithmetic("div", other, self)

    def __mod__(self, other: Any) -> "NDArray":
        return arithmetic("mod", self, other)

    def __rmod__(self, other: Any) -> "NDArray":
        return arithmetic("mod", other, self)

    def __pow__(self, other: Any) -> "NDArray":
        return arithmetic("power", self, other)

    def __rpow__(self, other: Any) -> "NDArray":
        return arithmetic("power", other, self)

    def __neg__(self) -> "NDArray":
        return wrap(run(torch.neg, self._t), self._ctx)

    def __abs__(self) -> "NDArray":
        return wrap(run(torch.abs, self._t), self._ctx)

    def __iadd__(self, other: Any) -> "NDArray":
        return in_place("add", self, other)

    def __isub__(self, other: Any) -> "NDArray":
        return in_place("sub", self, other)

    def __imul__(self, other: Any) -> "NDArray":
        return in_place("mul", self, other)

    def __itruediv__(self, other: Any) -> "NDArray":
        return in_place("div", self, other)

    def __imod__(self, other: Any) -> "NDArray":
        return in_place("mod", self, other)

    def __eq__(self, other: object) -> "NDArray":  # type: ignore[override]
        return arithmetic("equal", self, other)

    def __ne__(self, other: object) -> "NDArray":  # type: ignore[override]
        return arithmetic("not_equal", self, other)

    def __gt__(self, other: Any) -> "NDArray":
        return arithmetic("greater", self, other)

    def __ge__(self, other: Any) -> "NDArray":
        return arithmetic("greater_equal", self, other)

    def __lt__(self, other: Any) -> "NDArray":
        return arithmetic("lesser", self, other)

    def __le__(self, other: Any) -> "NDArray":
        return arithmetic("lesser_equal", self, other)


def wrap(tensor: Tensor, ctx: Context) -> NDArray:
    """An array around a tensor, without the checks of the constructor."""
    array = NDArray.__new__(NDArray)
    array._t = tensor
    array._ctx = ctx
    array._grad = None
    array._fresh = False
    if tensor.requires_grad and state.recording:
        remember(array)
    return array


def _rebuild(values: np.ndarray, ctx: Context) -> NDArray:
    return NDArray(torch.from_numpy(values.copy()).to(ctx.device), ctx)


def _move(tensor: Tensor, ctx: Context) -> Tensor:
    """A contiguous copy on a context's device, in the graph if the tensor is."""
    copy = tensor.to(ctx.device)
    return copy.clone(memory_format=torch.contiguous_format) if copy.device == tensor.device else copy


def run(function: Callable[..., Any], *tensors: Any) -> Any:
    """Compute on tensors, in the graph only while `autograd.record` is in force."""
    if state.recording:
        return function(*tensors)
    return without_torch_grad(function, *tensors)


def write(target: NDArray, values: Tensor) -> None:
    """Replace the elements of an array; while recording, its new values are part of the graph.

    Raises:
        MXNetError: for values of another shape, or a target in the graph being recorded.
    """
    if target._t.shape != values.shape:
        raise MXNetError(f"the output has shape {target.shape}, the result {tuple(values.shape)}")
    if state.recording:
        if target._t.requires_grad:
            raise MXNetError(_IN_GRAPH)
        if values.requires_grad:
            target._t.copy_(values)
            remember(target)
            return
    target._t.data.copy_(values.detach())


def mark(array: NDArray, gradient: NDArray, grad_req: str) -> None:
    """Make an array a variable whose gradients go to `gradient`: replaced ("write"), summed ("add") or not at all."""
    leaf = array._t.detach()
    array._t = leaf
    array._grad = gradient
    if grad_req == "null" or not leaf.dtype.is_floating_point:
        return
    leaf.requires_grad_(True)

    def collect(variable: Tensor) -> None:
        fresh = variable.grad
        variable.grad = None
        assert fresh is not None
        if grad_req == "add":
            gradient._t.data.add_(fresh.detach())
        else:
            gradient._t = fresh.detach()
        gradient._fresh = True

    leaf.register_post_accumulate_grad_hook(collect)


def arithmetic(name: str, left: Any, right: Any) -> NDArray:
    """A binary operator on arrays, which broadcast, and numbers, which take the array's dtype.

    Raises:
        TypeError: for anything else on the right.
        AssertionError: for anything else on the left.
        MXNetError: for arrays of different dtypes or shapes that do not broadcast.
    """
    a: Any
    b: Any
    if isinstance(left, NDArray):
        a, ctx = left._t, left._ctx
        if isinstance(right, NDArray):
            b = right._t
            if a.dtype != b.dtype:
                raise MXNetError(
                    f"both arrays must have one dtype, got {left.dtype.__name__} and {right.dtype.__name__}; use astype"
                )
        elif isinstance(right, numeric_types):
            b = _number(right, a)
        else:
            raise TypeError(f"type {type(right)} not supported")
    elif isinstance(left, numeric_types):
        b, ctx = right._t, right._ctx
        a = _number(left, b)
    else:
        raise AssertionError(f"Argument lhs must have NDArray type, but got {left}")
    try:
        if state.recording:
            return wrap(BINARY[name](a, b), ctx)
        return wrap(without_torch_grad(BINARY[name], a, b), ctx)
    except RuntimeError as error:
        raise MXNetError(str(error)) from error


def in_place(name: str, left: NDArray, right: Any) -> NDArray:
    """A binary operator whose result replaces the left array's elements."""
    if state.recording and left._t.requires_grad:
        raise MXNetError(_IN_GRAPH)
    result = arithmetic(name, left, right)._t
    if result.requires_grad:
        raise MXNetError(_IN_PLACE)
    write(left, result)
    return left


def call(operator: Operator, arguments: tuple, attributes: Mapping[str, Any], out: Any = None) -> Any:
    """Run an operator on arrays.

    Args:
        operator: the operator.
        arguments: the arrays, then attributes in the operator's order.
        attributes: further arrays and attributes by name.
        out: array, or list of arrays, that receives the results.

    Returns:
        An NDArray, or a list of them for an operator with several results.

    Raises:
        AssertionError: for an input that is no NDArray.
        MXNetError: for an unknown attribute, and for whatever the operator refuses.
    """
    ctx = None
    values: list[Any] = []
    inputs = len(arguments) if operator.variadic else len(operator.inputs)
    for place, argument in enumerate(arguments):
        if isinstance(argument, NDArray):
            values.append(argument._t)
            ctx = ctx or argument._ctx
        else:
            if place < inputs and (operator.variadic or argument is not None):
                name = operator.inputs[0 if operator.variadic else place]
                raise AssertionError(f"Argument {name} must have NDArray type, but got {argument}")
            values.append(argument)
    named = {}
    for key, value in attributes.items():
        if isinstance(value, NDArray):
            ctx = ctx or value._ctx
            named[key] = value._t
        elif key in operator.inputs and not operator.variadic:
            if value is not None:
                raise AssertionError(f"Argument {key} must have NDArray type, but got {value}")
        elif key in operator.attributes:
            named[key] = value
        else:
            operator.check({key: value})
    if ctx is None:
        ctx = as_context(named.get("ctx"))
    try:
        if state.recording:
            result = operator.compute(*values, **named)
        else:
            result = without_torch_grad(operator.compute, *values, **named)
        if operator.copies:
            result = _own(result, values, named)
    except (MXNetError, NotImplementedError, AssertionError):
        raise
    except TypeError as error:
        raise operator.complain(error) from error
    except (RuntimeError, IndexError, ValueError) as error:
        raise MXNetError(f"{operator.name}: {error}") from error
    return _give(result, ctx, out)


def _own(result: Any, values: list, named: Mapping[str, Any]) -> Any:
    """Copy what shares memory with an input: an operator's result is an array of its own."""
    if isinstance(result, tuple):
        return tuple(_own(part, values, named) for part in result)
    shares = result._is_view() or any(result is v for v in values) or any(result is v for v in named.values())
    if not shares:
        return result
    return run(lambda t: t.clone(memory_format=torch.contiguous_format), result)


def _give(result: Any, ctx: Context, out: Any) -> Any:
    if out is not None:
        targets = out if isinstance(out, (list, tuple)) else [out]
        results = result if isinstance(result, tuple) else (result,)
        for target, values in zip(targets, results, strict=False):
            write(target, values.to(target._t.dtype))
        return out
    if isinstance(result, tuple):
        return [wrap(part, ctx) for part in result]
    return wrap(result, ctx)


def symmetric(name: str) -> Callable[[Any, Any], Any]:
    """A function such as `mx.nd.add(lhs, rhs)`: arrays or numbers on either side."""

    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray) or isinstance(rhs, NDArray):
            return arithmetic(name, lhs, rhs)
        if isinstance(lhs, numeric_types) and isinstance(rhs, numeric_types):
            return _ON_NUMBERS[name](lhs, rhs)
        raise TypeError(f"type {type(lhs)} and {type(rhs)} not supported")

    function.__name__ = name
    return function


_ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": python_operator.add, "sub": python_operator.sub, "mul": python_operator.mul,
    "div": python_operator.truediv, "mod": python_operator.mod, "power": python_operator.pow,
    "maximum": max, "minimum": min, "hypot": math.hypot,
    "equal": lambda a, b: 1 if a == b else 0, "not_equal": lambda a, b: 1 if a != b else 0,
    "greater": lambda a, b: 1 if a > b else 0, "greater_equal": lambda a, b: 1 if a >= b else 0,
    "lesser": lambda a, b: 1 if a < b else 0, "lesser_equal": lambda a, b: 1 if a <= b else 0,
    "logical_and": lambda a, b: 1 if a and b else 0, "logical_or": lambda a, b: 1 if a or b else 0,
    "logical_xor": lambda a, b: 1 if bool(a) ^ bool(b) else 0,
}  # fmt: skip
