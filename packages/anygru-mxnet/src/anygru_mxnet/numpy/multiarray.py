"""`mx.np.ndarray`: MXNet's array with NumPy's shapes, dtypes and operators."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as onp
import torch

from ..base import DtypeLike, MXNetError, torch_dtype
from ..ndarray import indexing
from ..ndarray.array import IN_GRAPH, IN_PLACE, run, wrap, wrapped_by, write
from ..ndarray.ndarray import NDArray
from ..state import state, without_torch_grad
from . import functions
from .apply import apply, to_tensors, wrapped
from .shaping import check_supported

__all__ = ["ndarray"]


def _key(key: Any, ndim: int) -> Any:
    """Convert an index for `indexing`: positions to integers, and masks to the positions of True.

    Raises:
        IndexError: for an index of an array without axes.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not ndim and parts not in ((), (slice(None),)):
        raise IndexError("scalar tensor can only accept `()` as index")
    found: list[Any] = []
    for part in parts:
        if isinstance(part, slice):
            bounds = (part.start, part.stop, part.step)
            part = slice(*(int(b._t.item()) if isinstance(b, NDArray) else b for b in bounds))
        else:
            part = to_tensors(part)
            if isinstance(part, list) and part and all(isinstance(item, bool) for item in part):
                part = torch.tensor(part)
        if isinstance(part, torch.Tensor) and part.dtype == torch.bool:
            found.extend(part.nonzero(as_tuple=True))
        elif isinstance(part, torch.Tensor) and not part.dim():
            found.append(int(part))
        else:
            found.append(part)
    return tuple(found)


class ndarray(NDArray):
    """An array of `mx.np`."""

    __slots__ = ()
    __module__ = __package__  # the path of the class in MXNet 1.9.1, which its type prints

    def __getitem__(self, key: Any) -> Any:
        return wrapped(run(indexing.part, self._t, _key(key, self.ndim)), self._ctx)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return super().__len__()

    def __setitem__(self, key: Any, value: Any) -> None:
        if state.recording and self._t.requires_grad:
            raise MXNetError(IN_GRAPH)
        values = to_tensors(value)
        if state.recording and isinstance(values, torch.Tensor) and values.requires_grad:
            if not (key is Ellipsis or key == slice(None)):
                raise MXNetError(IN_PLACE)
            write(self, values.expand(self._t.shape))
            return
        without_torch_grad(indexing.put, self._t.data, _key(key, self.ndim), values)

    def __iter__(self) -> Iterator["ndarray"]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        values = onp.asarray(self.asnumpy())
        text = onp.array2string(values, separator=", ", prefix="array(") if values.size else "[]"
        if not values.size and values.ndim > 1:
            text += f", shape={values.shape}"
        kind = "" if values.dtype in (onp.float32, onp.bool_) else f", dtype={values.dtype}"
        place = "" if self._ctx.device_type == "cpu" else f", ctx={self._ctx}"
        return f"array({text}{kind}{place})"

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._t.is_floating_point():
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.item())

    def __invert__(self) -> Any:
        return apply(torch.bitwise_not, self)

    def __matmul__(self, other: Any) -> Any:
        return apply(torch.matmul, self, other)

    def __hash__(self) -> int:
        return id(self) // 16

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the elements."""
        return onp.dtype(super().dtype)

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return self.transpose()

    def item(self, *args: int) -> Any:
        """The single element, or the element at a position, as a Python number."""
        if not args and self._t.numel() != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.asnumpy().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._t.tolist()

    def astype(  # type: ignore[override]
        self, dtype: DtypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        for name, value, allowed in (
            ("order", order, "KC"),
            ("casting", casting, ["unsafe"]),
            ("subok", subok, [True]),
        ):
            if value not in list(allowed):
                raise ValueError(f"{name} must be {' or '.join(map(repr, allowed))}, got {value!r}")
        kind = torch_dtype(dtype)
        return self if not copy and kind == self._t.dtype else apply(lambda t: t.to(kind, copy=True), self)

    def reshape_view(self, *shape: Any, **kwargs: Any) -> Any:
        """Another shape on the same memory, by the codes of `mx.nd.reshape`."""
        return NDArray.reshape(self, *shape, **kwargs)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Another shape on the same memory; -1 is inferred."""
        check_supported("order", order, "C")
        if not shape:
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return apply(lambda t: t.reshape(tuple(int(n) for n in sizes)), self)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return functions.transpose(self, order or None)

    def flatten(self, order: str = "C") -> Any:  # type: ignore[override]
        """One axis, copied."""
        check_supported("order", order, "C")
        return apply(lambda t: t.reshape(-1).clone(), self)

    def copy(self, order: str = "C") -> Any:
        """A copy."""
        check_supported("order", order, "C")
        return apply(torch.clone, self)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """The elements within bounds."""
        return functions.clip(self, min, max, out=out)

    def as_nd_ndarray(self) -> NDArray:
        """The array as one of `mx.nd`, on the same memory."""
        return wrap(self._t, self._ctx, False)

    def as_np_ndarray(self) -> "ndarray":
        """The array itself."""
        return self


def _method(name: str) -> Callable[..., Any]:
    function = getattr(functions, name)

    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`mx.np.{name}` of this array."
    return method


for _name in (
    "abs", "all", "any", "argmax", "argmin", "argsort", "cumsum", "dot", "max", "mean", "min", "nonzero", "prod",
    "ravel", "repeat", "round", "sort", "split", "squeeze", "std", "sum", "swapaxes", "take", "tile", "var",
    "broadcast_to", "expand_dims",
):  # fmt: skip
    setattr(ndarray, _name, _method(_name))


def _operator(name: str, function: Callable[[Any, Any], Any]) -> None:
    def fitting(self: ndarray, other: Any) -> Any:
        # A number gets the dtype of an array of integers (recorded from MXNet 1.9.1), except in a division.
        whole = isinstance(other, float) and name in ("add", "sub", "mul") and not self._t.is_floating_point()
        return int(other) if whole else other

    def forward(self: ndarray, other: Any) -> Any:
        return apply(function, self, fitting(self, other)) if other is not None else NotImplemented

    def backward(self: ndarray, other: Any) -> Any:
        return apply(lambda a, b: function(b, a), self, fitting(self, other))

    def in_place(self: ndarray, other: Any) -> Any:
        if state.recording and self._t.requires_grad:
            raise MXNetError(IN_PLACE)
        write(self, apply(function, self, other)._t.to(self._t.dtype))
        return self

    for prefix, method in (("", forward), ("r", backward), ("i", in_place)):
        setattr(ndarray, f"__{prefix}{name}__", method)


for _name in ("add", "sub", "mul", "truediv", "mod", "pow", "and_", "or_", "xor"):
    _operator(_name.rstrip("_"), getattr(operator, _name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _operator(_name, getattr(operator, _name))
for _name, _unary in (("neg", torch.neg), ("abs", torch.abs)):
    setattr(ndarray, f"__{_name}__", lambda self, unary=_unary: apply(unary, self))

wrapped_by(True, ndarray)
