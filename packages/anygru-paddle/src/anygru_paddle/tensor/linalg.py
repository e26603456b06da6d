"""Matrix products, norms and decompositions."""

import math
from typing import Any

import torch

from ..base.errors import no_kernel
from ..framework.dtype import single, torch_dtype
from ..framework.kinds import Axis
from .operation import (
    NUMBERS,
    as_axis,
    as_torch,
    need_float,
    need_same_dtype,
    no_small,
    operation,
    product,
    promoted,
    row,
)

__all__ = [
    "bincount", "bmm", "cdist", "cholesky", "cross", "dist", "dot", "einsum", "histogram", "matmul", "mv", "norm",
    "t",
]  # fmt: skip


_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_PRODUCTS = (*NUMBERS, torch.complex64, torch.complex128)


@operation
def matmul(
    x: torch.Tensor, y: torch.Tensor, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> torch.Tensor:
    """The matrix product over the last two axes; `transpose_x` and `transpose_y` swap the last axes of x and y first."""
    x, y = promoted(x, y, "matmul", _PRODUCTS)
    no_small(x, "matmul")
    if transpose_x and x.ndim > 1:
        x = torch.transpose(x, -1, -2)
    if transpose_y and y.ndim > 1:
        y = torch.transpose(y, -1, -2)
    return product(x, y)


@operation
def bmm(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The products of two batches of matrices."""
    need_same_dtype(x, y, "bmm", NUMBERS[2:])
    return torch.bmm(x, y)


@operation
def mv(x: torch.Tensor, vec: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """A matrix times a vector."""
    need_same_dtype(x, vec, "mv", NUMBERS[2:])
    return torch.mv(x, vec)


@operation
def dot(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The sum of products over the last axis, of one axis or two."""
    if x.ndim not in (1, 2):
        raise no_kernel(f"(PreconditionNotMet) dot(): x must have one axis or two, got shape {list(x.shape)}")
    need_same_dtype(x, y, "dot", _PRODUCTS, by="x")
    # torch.dot takes vectors only, and torch.sum makes int64 of int32.
    return torch.Tensor.to(torch.sum(torch.mul(x, y), dim=-1), torch_dtype(x.dtype))


@operation
def t(input: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The transpose of a matrix; a vector or number is returned unchanged."""
    if input.ndim > 2:
        raise ValueError(
            f"Input(input) only support N-D (N<=2) tensor, but received length of Input(input) is {input.ndim}."
        )
    return input if input.ndim < 2 else torch.t(input)


def _full_shape(out: torch.Tensor, x: torch.Tensor, keepdim: bool) -> torch.Tensor:
    return torch.reshape(out, [1] * x.ndim) if keepdim else out


def p_norm(x: torch.Tensor, p: float, axis: Any, keepdim: bool) -> torch.Tensor:
    """The p-norm along axes; p, and 1 / p for the root, are numbers of single precision (recorded, 2.6.2)."""
    p = single(p)
    out = torch.linalg.vector_norm(x, p, axis, keepdim)
    if p in (0, 1, 2) or math.isinf(p) or _dtype(x) != torch.float64:
        return out
    size = out.detach()
    size = torch.where(torch.gt(size, 0), size, 1)
    near = torch.pow(size, p * single(1 / p))  # the norm as Paddle rounds it, which its gradient divides by, too
    return torch.where(
        torch.gt(out, 0), torch.add(near, torch.mul(torch.sub(out, size), torch.pow(size / near, p - 1))), out
    )


def _norm_of_integers(size: torch.Tensor, p: float, axes: tuple[int, int], keepdim: bool) -> torch.Tensor:
    """The norm of matrices of integers, by two axes as in Paddle 2.6.2, which cuts p and 1 / p to integers (recorded)."""
    if math.isinf(p):
        return (torch.amax if p > 0 else torch.amin)(size, axes, keepdim)
    return torch.pow(torch.sum(torch.pow(size, int(p)), axes, keepdim), int(1 / p))


@operation
def norm(
    x: torch.Tensor, p: Any = "fro", axis: Axis = None, keepdim: bool = False, name: str | None = None
) -> torch.Tensor:
    """The p-norm of vectors, or the Frobenius norm of matrices, along axes; of all elements without an axis."""
    axis, given_fro = as_axis(axis), p == "fro"
    if p in ("fro", "nuc"):
        if p == "nuc":
            return torch.linalg.matrix_norm(x, "nuc", (-2, -1) if axis is None else axis, keepdim)
        p = 2
    if isinstance(axis, tuple) and len(axis) > 2:  # checked before the dtype (recorded, 2.6.2)
        raise ValueError(f"except axis type int or list (length of list <=2), found {list(axis)}")
    if not isinstance(p, (int, float)):
        raise ValueError(f"norm: p must be 'fro' or a number, got {p!r}")
    if isinstance(axis, tuple) and len(axis) == 2:
        if p == 0:
            raise ValueError(f"just support axis type int or list (length of list <=1) if p = 0, found {list(axis)}")
        if _dtype(x) in (torch.int32, torch.int64) and not given_fro:
            return _norm_of_integers(torch.abs(x), p, axis, keepdim)
    need_float(x, "norm")
    if axis is None:
        return _full_shape(p_norm(torch.flatten(x), float(p), 0, False), x, keepdim)
    return p_norm(x, float(p), axis, keepdim)


@operation
def dist(x: torch.Tensor, y: torch.Tensor, p: float = 2, name: str | None = None) -> torch.Tensor:
    """The p-norm of x - y, of floating-point tensors."""
    need_same_dtype(x, y, "dist", NUMBERS[2:])
    need_float(x, "dist")
    if p == 0:  # the number of elements that differ, with gradient 0; torch gives no gradient
        difference = torch.sub(x, y)
        return torch.add(torch.count_nonzero(difference), torch.mul(torch.sum(difference), 0))
    return p_norm(torch.flatten(torch.sub(x, y)), float(p), 0, False)


def _distances(x: torch.Tensor, y: torch.Tensor, p: float) -> torch.Tensor:
    if p in (0, 1, 2) or math.isinf(p):
        return torch.cdist(x, y, p)
    return p_norm(torch.sub(torch.unsqueeze(x, -2), torch.unsqueeze(y, -3)), float(p), -1, False)


cdist = row(
    "cdist",
    # `compute_mode` only chooses between two ways to the same distances.
    lambda x, y, p=2.0, compute_mode="", name=None: _distances(x, y, p),
    "The p-norm distance of every row of x to every row of y.",
)


@operation
def cross(x: torch.Tensor, y: torch.Tensor, axis: int = 9, name: str | None = None) -> torch.Tensor:
    """The cross product along an axis of length 3, the first such axis by default."""
    need_same_dtype(x, y, "cross", NUMBERS, by="x")
    no_small(x, "cross")
    if axis == 9:  # Paddle's own mark for an axis that is not given
        lengths = list(x.shape)
        if 3 not in lengths:
            raise ValueError(f"(InvalidArgument) cross(): no axis of length 3 in shape {lengths}")
        axis = lengths.index(3)
    return torch.linalg.cross(x, y, dim=axis)


cholesky = row(
    "cholesky", lambda x, upper=False, name=None: torch.linalg.cholesky(x, upper=upper), "The Cholesky factor."
)


@operation
def bincount(x: torch.Tensor, weights: Any = None, minlength: int = 0, name: str | None = None) -> torch.Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
    return torch.bincount(x, weights, minlength)


@operation
def histogram(
    input: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0, name: str | None = None
) -> torch.Tensor:
    """How many elements fall into each of `bins` equal intervals from min to max (the tensor's if both are 0)."""
    # torch.histc takes no integers and counts in floats.
    return torch.histc(torch.Tensor.to(input, torch.float64), bins, min, max).to(torch.int64)


@operation
def einsum(equation: str, *operands: Any) -> torch.Tensor:
    """Sums of products in Einstein's notation.

    Raises:
        AssertionError: if an operand has more axes than labels and no ellipsis, or their number is another than the equation's.
    """
    named_operands = equation.split("->")[0].split(",")
    if len(named_operands) != len(operands):
        raise AssertionError(f"Invalid equation: it names {len(named_operands)} operands, got {len(operands)}.")
    for labels, each in zip(named_operands, operands, strict=True):
        named = labels.replace(" ", "")
        if "..." not in named and len(named) != as_torch(each).ndim:
            raise AssertionError(f"Invalid equation: the label string '{named}' misses dimensions.")
    return torch.einsum(equation, *(as_torch(each) for each in operands))
