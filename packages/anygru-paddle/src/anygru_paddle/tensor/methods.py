"""The methods of tensors that are operations, in-place operations, operators and casts."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from anygru.extend import names, not_covered

from . import (
    attribute,
    creation,
    indexing,
    inplace,
    linalg,
    logic,
    manipulation,
    math,
    matrices,
    moving,
    ops,
    pairs,
    random,
    reduction,
    search,
    selection,
    special,
    stat,
)
from .operators import OPERATORS

if TYPE_CHECKING:
    from .tensor import Tensor

# Paddle 2.6.2 has these functions, but no methods of their names; `tolist`, `shape` and `is_tensor` the tensor gives itself.
_NO_METHODS = {
    "crop", "det", "eigh", "einsum", "inv", "is_tensor", "matrix_rank", "searchsorted", "shape", "slogdet", "svd", "tolist",
    "triangular_solve",
}  # fmt: skip
_CREATING = {"clone", "diag", "diag_embed", "diagflat", "tril", "triu", "multinomial"}
_MODULES = (
    ops, math, pairs, reduction, manipulation, selection, linalg, matrices, logic, search, special, stat, attribute,
)  # fmt: skip


def _dim(self: "Tensor") -> int:
    """The number of axes."""
    return self.ndim


def _transposed(self: "Tensor") -> torch.Tensor:
    """The axes in reverse order; a tensor of one axis is its own (recorded, 2.6.2)."""
    return self if self.ndim == 1 else manipulation.transpose(self, list(range(self.ndim))[::-1])


def _contiguous(self: "Tensor") -> torch.Tensor:
    """The tensor itself if it is contiguous; a contiguous copy otherwise."""
    return self if self.is_contiguous() else self.clone()


def _is_same_shape(self: "Tensor", other: "Tensor") -> bool:
    """Whether another tensor has the same shape."""
    return self.shape == other.shape


def _absolute(self: torch.Tensor) -> torch.Tensor:
    if self.dtype.torch == torch.bool:  # type: ignore[attr-defined]
        raise TypeError("bad operand type for abs(): 'Tensor'")
    return ops.abs(self)


def _contains(self: "Tensor", value: Any) -> bool:
    """Whether any element equals `value`; never for a tensor without axes, over which Python cannot go (recorded, 2.6.2)."""
    return self.ndim > 0 and bool((self == value).any())


class _No(int):
    """False, for Paddle's `tensor.is_sparse()` and for torch's `tensor.is_sparse`, which its optimizers ask for."""

    def __call__(self) -> bool:
        return False


def _is_sparse(self: "Tensor") -> _No:
    """False: every tensor is dense."""
    return _No(0)


def _absent(name: str) -> property:
    """A property of torch's tensors that Paddle's have not."""

    def getter(self: "Tensor") -> None:
        raise AttributeError(f"'Tensor' object has no attribute '{name}'")

    return property(getter)


def _refused(name: str) -> property:
    """A property that refuses: torch's tensors have a method of this name with another meaning."""

    def getter(self: "Tensor") -> None:
        raise not_covered(f"paddle.Tensor.{name}")

    return property(getter)


METHODS: dict[str, Callable[..., Any] | property] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__ if name not in _NO_METHODS
}
METHODS |= {
    name: getattr(module, name) for module in (creation, random) for name in module.__all__ if name in _CREATING
}
METHODS |= OPERATORS | inplace.INPLACE
METHODS |= {
    "sigmoid": ops.sigmoid, "__abs__": _absolute, "__contains__": _contains, "__getitem__": indexing.get,
    "__setitem__": indexing.set_, "to": moving.to, "astype": moving.astype, "cpu": moving.cpu, "cuda": moving.cuda,
    "pin_memory": moving.pin_memory, "dim": _dim, "ndimension": _dim, "T": property(_transposed), "contiguous": _contiguous,
    "is_same_shape": _is_same_shape, "mT": _absent("mT"),
    "is_sparse": property(_is_sparse), "is_sparse_coo": property(_is_sparse), "is_sparse_csr": property(_is_sparse),
}  # fmt: skip
METHODS |= {name: _refused(name) for name in names("paddle").refused.get("paddle.Tensor", ())}
