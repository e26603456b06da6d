"""`mx.nd.NDArray`: a torch tensor under MXNet's rules.

The array wraps a tensor and is not a subclass: MXNet's sizes, dtypes, result shapes, memory sharing and gradients differ from
    torch's too often. Copies are made where MXNet copies; where it shares memory (reshapes by method,
rows, contiguous slices, `detach`), the result is a view.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from anygru.extend import Budget

from ..base import NUMPY_OF_TORCH, STORAGE_NUMBERS, DtypeLike, MXNetError, Sizes, engine_errors, torch_dtype
from ..context import Context
from ..operators import OPERATORS
from ..operators.registry import as_tuple
from ..operators.shape import new_shape
from ..state import state, without_torch_grad
from . import indexing
from .arithmetic import Arithmetic
from .array import IN_GRAPH, IN_PLACE, call, mark, move, run, wrap, wrapped_by, write
from .gradients import backward
from .records import of_record
from .scalars import scalar, singles
from .tape import remember
from .whole import carry, in_graph

__all__ = ["NDArray"]

# Names that programs import from this module, as in MXNet.
_STORAGE_TYPE_STR_TO_ID = STORAGE_NUMBERS
py_slice = slice


class NDArray(Arithmetic):
    """An array of MXNet on a context.

    Args:
        tensor: the values.
        ctx: its nominal context; by default the current context.
    """

    __slots__ = ()

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
        """The context of the array."""
        return self._ctx

    ctx = context

    @property
    def stype(self) -> str:
        """Always "default": anygru has no sparse arrays."""
        return "default"

    @property
    def T(self) -> "NDArray":
        """The axes in reverse order, copied."""
        # With fewer than two axes it is the array itself, not a copy (MXNet 1.9.1, observed).
        return self if self._t.dim() < 2 else call(OPERATORS["transpose"], (self,), {})

    @property
    def grad(self) -> "NDArray | None":
        """The gradient of the last `backward`, or None without `attach_grad`."""
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
        # CPython's hash of objects without `__eq__`, because arrays define `__eq__`.
        return id(self) // 16

    def __repr__(self) -> str:
        sizes = "x".join(str(n) for n in self.shape)
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {sizes} @{self._ctx}>"

    def __reduce__(self) -> tuple:
        return (_rebuild, (self.asnumpy(), self._ctx, type(self)))

    def __setstate__(self, pickled: Any) -> None:
        # A pickle of MXNet calls `NDArray(None)`, and then this method.
        budget = Budget("a pickled NDArray")
        self._t = of_record(pickled, budget)

    def __copy__(self) -> "NDArray":
        return self.copy()

    def __deepcopy__(self, memo: dict) -> "NDArray":
        return self.copy()

    def __iter__(self) -> Iterator["NDArray"]:
        return (self[i] for i in range(len(self)))

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy."""
        return singles(self._t.detach().cpu().numpy().copy())

    def __array__(self, dtype: DtypeLike = None, copy: bool | None = None) -> np.ndarray:
        return self.asnumpy() if dtype is None else self.asnumpy().astype(dtype)

    def asscalar(self) -> Any:
        """The single element as a NumPy scalar. For an array of several axes, a NumPy array with these axes.

        Raises:
            ValueError: for an array of several elements.
        """
        if self._t.numel() != 1:
            raise ValueError("The current array is not a scalar")
        # For shape (1, 1) it is an array of that shape (MXNet 1.9.1, observed).
        return scalar(self.dtype(self._t.item())) if self._t.dim() == 1 else self.asnumpy()[()]

    def astype(self, dtype: DtypeLike, copy: bool = True) -> "NDArray":
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
            return wrap(run(lambda t: move(t, other), self._t), other)
        raise TypeError(f"copyto does not support type {type(other)}")

    def copy(self) -> "NDArray":
        """A copy on the same context."""
        return wrap(run(lambda t: move(t, self._ctx), self._t), self._ctx)

    def as_in_context(self, context: Context) -> "NDArray":
        """The array itself if it is on the context already, and a copy there otherwise."""
        if self._ctx == context:
            return self
        return wrap(run(lambda t: move(t, context), self._t), context)

    def as_in_ctx(self, ctx: Context) -> "NDArray":
        """`as_in_context`."""
        return self.as_in_context(ctx)

    def wait_to_read(self) -> None:
        """Wait until the values are computed."""
        if self._t.is_cuda:
            torch.cuda.synchronize(self._t.device)

    def as_nd_ndarray(self) -> "NDArray":
        """The array itself."""
        return self

    def as_np_ndarray(self) -> "NDArray":
        """The array as one of `mx.np`, over the same memory and in the same graph."""
        return wrap(self._t, self._ctx, True)

    def tostype(self, stype: str) -> "NDArray":
        """The array itself for "default".

        Raises:
            NotImplementedError: for sparse storage.
        """
        if stype != "default":
            raise NotImplementedError(f"anygru has no sparse arrays ({stype!r}); in PyTorch: torch.sparse")
        return self

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make the array a variable, for which `backward` stores a gradient. It is detached from its graph."""
        if grad_req not in ("write", "add", "null"):
            raise KeyError(grad_req)
        if stype not in (None, "default"):
            raise NotImplementedError(f"anygru has no sparse gradients ({stype!r})")
        mark(self, wrap(torch.zeros_like(self._t.detach()), self._ctx), grad_req)

    def detach(self) -> "NDArray":
        """The same values outside any graph, sharing memory."""
        return wrap(self._t.detach(), self._ctx)

    def backward(self, out_grad: "NDArray | None" = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradients of all variables that this array depends on. `out_grad` is ones by default."""
        backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    def to_dlpack_for_read(self) -> object:
        """The array as a DLPack capsule."""
        return self._t.detach().__dlpack__()

    to_dlpack_for_write = to_dlpack_for_read

    def reshape(self, *shape: Any, **kwargs: Any) -> "NDArray":
        """Another shape over the same memory; with the codes 0, -1, -2, -3 and -4 of `mx.nd.reshape`.

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
            # MXNet's engine refuses more elements than there are; its Python front end, fewer (recorded from 1.9.1).
            engine = size > before or state.recording
            error: type[Exception] = MXNetError if engine else ValueError
            raise error(f"Cannot reshape array of size {before} into shape {tuple(shape)}")
        return self._view(lambda t: t.reshape(wanted))

    def _view(self, function: Callable[[torch.Tensor], torch.Tensor]) -> "NDArray":
        """A view of the array, or a part of it, in the same graph."""
        part = wrap(run(function, self._t), self._ctx)
        if self._carrier is not None and state.recording:
            carry(part, function, [self], OPERATORS["slice"])
        return part

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
        """The array broadcast to the shape of another array."""
        return self.broadcast_to(other.shape)

    def expand_dims(self, axis: int, inplace: bool = False) -> "NDArray":
        """The array with a new axis of size 1, on the same memory with `inplace`."""
        if inplace:
            assert -self.ndim - 1 <= axis <= self.ndim, f"axis {axis} is out of range for {self.ndim} dimensions"
            return self._view(lambda t: t.unsqueeze(axis))
        return call(OPERATORS["expand_dims"], (self,), {"axis": axis})

    def squeeze(self, axis: Sizes = None, inplace: bool = False) -> "NDArray":
        """The array without axes of size 1, on the same memory with `inplace`."""
        if inplace:
            axes = range(self.ndim) if axis is None else [a % self.ndim for a in as_tuple(axis)]
            dropped = [a for a in axes if axis is not None or self.shape[a] == 1]
            for a in dropped:
                assert self.shape[a] == 1, f"Squeeze target axis {a} must be size 1, got {self.shape[a]}."
            return self.reshape(*([n for a, n in enumerate(self.shape) if a not in dropped] or [1]))
        return call(OPERATORS["squeeze"], (self,), {"axis": axis})

    def flatten(self, inplace: bool = False) -> "NDArray":
        """The array with two dimensions, the first and the product of all others, on the same memory with `inplace`."""
        if inplace:
            return self.reshape(0, -1)
        return call(OPERATORS["Flatten"], (self,), {})

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> "list[NDArray]":
        """Split the array into equal parts, or at positions.

        Raises:
            IndexError: for an axis that the array does not have.
            ValueError: for parts that are not equal.
        """
        size = self.shape[axis]
        if isinstance(indices_or_sections, int):
            if size % indices_or_sections:
                raise ValueError("array split does not result in an equal division")
            attributes: dict[str, Any] = {"num_outputs": indices_or_sections}
            return call(OPERATORS["SliceChannel"], (self,), {**attributes, "axis": axis, "squeeze_axis": squeeze_axis})
        attributes = {"indices": (0, *indices_or_sections)}
        return call(OPERATORS["_split_v2"], (self,), {**attributes, "axis": axis, "squeeze_axis": squeeze_axis})

    def __getitem__(self, key: Any) -> "NDArray":
        if key is Ellipsis or (type(key) is tuple and not key) or (type(key) is slice and key == slice(None)):
            return self
        return self._view(lambda t: indexing.get(t, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, NDArray):
            value = value._t
        watched = state.recording and in_graph(self).requires_grad
        recorded = state.recording and isinstance(value, torch.Tensor) and value.requires_grad
        if recorded and not watched and (key is Ellipsis or (isinstance(key, slice) and key == slice(None))):
            indexing.put(self._t, key, value)
            remember(self)
            return
        # As in MXNet 1.9.1 the elements are replaced before an error about the graph.
        without_torch_grad(indexing.put, self._t.data, key, value)
        if watched or recorded:
            raise MXNetError(IN_GRAPH if watched else IN_PLACE)

    def slice_assign(self, rhs: Any, begin: tuple, end: tuple, step: tuple) -> "NDArray":
        """Write an array into a slice of this array."""
        self[tuple(slice(*three) for three in zip(begin, end, step, strict=True))] = rhs
        return self

    def slice_assign_scalar(self, value: float, begin: tuple, end: tuple, step: tuple) -> "NDArray":
        """Write a number into a slice of this array."""
        return self.slice_assign(value, begin, end, step)


def _rebuild(values: np.ndarray, ctx: Context, kind: type[NDArray] = NDArray) -> NDArray:
    return kind(torch.from_numpy(values.copy()).to(ctx.device), ctx)


wrapped_by(False, NDArray)
