"""Products of matrices and tensors, linear maps and embeddings."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy
import torch

from ..configuration import config
from ..types import VariableLike
from ..utils import type_check
from ..utils.helpers import size_of_shape
from ..variable import Variable
from ._cells import Entering, Found, Step
from ._rows import Tensor, Type, all_real, expect, function, numbered
from .arrays import broadcast_to, reshape

__all__ = [
    "batch_det", "batch_inv", "batch_matmul", "bias", "bilinear", "cholesky", "det", "einsum", "embed_id", "inv", "linear",
    "matmul", "scale", "tensordot",
]  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _check_ndim(in_type: Type, lower: int = 1, upper: int = 2) -> None:
    expect(in_type.ndim >= lower, in_type.ndim <= upper)


def _get_check_index(trans: bool, right: bool, row_idx: int = 0, col_idx: int = 1) -> int:
    """The axis of an operand that the product sums over: `row_idx` or `col_idx`; `fabiencro/knmt` uses it."""
    return row_idx if trans != right else col_idx


def _matmul(a: Any, b: Any, transa: bool = False, transb: bool = False, transout: bool = False) -> Any:
    """The product of two arrays, transposed with `transout`; `fabiencro/knmt` uses it."""
    if transout:
        a, b, transa, transb = b, a, not transb, not transa
    return (a.swapaxes(-1, -2) if transa and a.ndim > 1 else a) @ (b.swapaxes(-1, -2) if transb and b.ndim > 1 else b)


def _inner_sizes(node: Any, a: Type, b: Type) -> None:
    expect(a.ndim >= 1, b.ndim >= 1)
    a_ndim, b_ndim = type_check.eval(a.ndim), type_check.eval(b.ndim)
    a_axis = _get_check_index(node.transa, False, -2, -1) if a_ndim > 1 else 0
    b_axis = _get_check_index(node.transb, True, -2, -1) if b_ndim > 1 else 0
    expect(a.shape[a_axis] == b.shape[b_axis])
    if a_ndim > 1 and b_ndim > 1:
        type_check.expect_broadcast_shapes(a.shape[:-2], b.shape[:-2])


@function("MatMul", all_real, _inner_sizes)
def matmul(a: Tensor, b: Tensor, transa: bool = False, transb: bool = False) -> Tensor:
    """The matrix product of two arrays (each transposed in its last two axes on demand), as `numpy.matmul`."""
    a = a.transpose(-1, -2) if transa and a.ndim > 1 else a
    b = b.transpose(-1, -2) if transb and b.ndim > 1 else b
    if a.dtype != b.dtype:
        common = torch.promote_types(a.dtype, b.dtype)
        a, b = a.to(common), b.to(common)
    return a @ b


def _batches(node: Any, a: Type, b: Type) -> None:
    # Only float32 is accepted (Chainer 7.8.1, seen).
    expect(a.dtype == numpy.float32, b.dtype == numpy.float32)
    _check_ndim(a, 2, 3)
    _check_ndim(b, 2, 3)
    sizes = []
    for in_type, transposed, right in ((a, node.transa, False), (b, node.transb, True)):
        axis = _get_check_index(transposed, right, 1, 2)
        sizes.append(1 if axis == 2 and type_check.eval(in_type.ndim) == 2 else in_type.shape[axis])
    expect(sizes[0] == sizes[1])


@function("BatchMatMul", _batches)
def _batch_matmul(a: Tensor, b: Tensor, transa: bool, transb: bool) -> Tensor:
    a = a.reshape(*a.shape[:2], -1)
    b = b.reshape(*b.shape[:2], -1)
    return (a.transpose(1, 2) if transa else a) @ (b.transpose(1, 2) if transb else b)


def batch_matmul(a: VariableLike, b: VariableLike, transa: bool = False, transb: bool = False) -> Variable:
    """The matrix products of two batches of matrices (or of vectors, taken as columns). Deprecated: use `matmul`."""
    warnings.warn("batch_matmul is deprecated. Use matmul instead.", DeprecationWarning)
    return _batch_matmul(a, b, transa, transb)


def _pair_of_axes(axes: Any = 2) -> tuple[Any]:
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            raise ValueError("axes must be a pair of sequence of integers when it is a list or tuple.")
        return ([[a] if isinstance(a, int) else list(a) for a in axes],)
    if not isinstance(axes, int):
        raise TypeError("axes must be a pair of sequence of integers or an integer")
    return (axes,)


@function("TensorDot", all_real, prepare=_pair_of_axes)
def tensordot(a: Tensor, b: Tensor, axes: list[list[int]] | int = 2) -> Tensor:
    """The sum of products over the last `axes` axes of `a` and the first of `b`, or over a pair of lists of axes."""
    left, right = axes if isinstance(axes, list) else (list(range(-axes, 0)), list(range(axes)))
    shapes = f"tensordot of {tuple(a.shape)} and {tuple(b.shape)}"
    if len(left) != len(right):
        raise ValueError(f"{shapes}: both operands need the same number of axes, got {left} and {right}")
    for i, j in zip(left, right, strict=True):
        if not (-a.ndim <= i < a.ndim and -b.ndim <= j < b.ndim):
            raise ValueError(f"{shapes}: there is no pair of axes {i} and {j}")
        if a.shape[i] != b.shape[j]:  # torch would repeat an axis of size 1
            raise ValueError(f"{shapes}: axes {i} and {j} differ in size")
    common = torch.promote_types(a.dtype, b.dtype)
    return torch.tensordot(a.to(common), b.to(common), dims=(left, right))


def _letter_sizes(node: Any, *xs: Type) -> None:
    sizes: dict[str, Any] = {}
    for letters, x in zip(node.subscripts.split("->")[0].split(","), xs, strict=True):
        for axis, letter in enumerate(letters if "." not in letters else ""):
            size = x.shape[axis]
            expect(sizes.setdefault(letter, size) == size)


@function("EinSum", numbered, all_real, _letter_sizes)
def _einsum(xs: Sequence[Tensor], subscripts: str) -> Tensor:
    return torch.einsum(subscripts, *xs)


def einsum(*operands: Any) -> Variable:
    """Einstein summation, spelled as in `numpy.einsum`: `einsum("ij,jk->ik", a, b)` or `einsum(a, [0, 1], b, [1, 2])`."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        subscripts, inputs = operands[0].replace(" ", ""), operands[1:]
    else:
        pairs = list(zip(operands[::2], operands[1::2], strict=False))
        inputs = tuple(x for x, _ in pairs)
        subscripts = ",".join(_letters(axes) for _, axes in pairs)
        if len(operands) % 2:
            subscripts += "->" + _letters(operands[-1])
    if len(subscripts.split("->")[0].split(",")) != len(inputs):
        raise ValueError("Number of einsum subscripts must be equal to the number of operands.")
    source, arrow, target = subscripts.partition("->")
    for letter in target.replace("...", ""):
        if letter not in source:
            raise ValueError(f"Output character {letter} did not appear in the input")
    return _einsum(inputs, source + arrow + target)


def _letters(axes: Any) -> str:
    for axis in axes:
        if axis is not Ellipsis and not isinstance(axis, int):
            raise TypeError("For this input type lists must contain either int or Ellipsis")
    return "".join("..." if axis is Ellipsis else _LETTERS[axis] for axis in axes)


def _aligned(x: VariableLike, y: VariableLike, axis: int) -> Variable:
    """`y` broadcast to the shape of `x` with its axes at `axis` of `x`."""
    if config.debug and tuple(x.shape[axis : axis + len(y.shape)]) != tuple(y.shape):
        raise AssertionError(f"y {tuple(y.shape)} must have the sizes of x {tuple(x.shape)} from axis {axis} on")
    shape = (1,) * axis + tuple(y.shape) + (1,) * (len(x.shape) - axis - len(y.shape))
    return broadcast_to(reshape(y, shape), x.shape)


def bias(x: VariableLike, y: VariableLike, axis: int = 1) -> Variable:
    """`x + y` with the axes of `y` at `axis` of `x`."""
    return x + _aligned(x, y, axis)


def scale(x: VariableLike, y: VariableLike, axis: int = 1) -> Variable:
    """`x * y` with the axes of `y` at `axis` of `x`."""
    return x * _aligned(x, y, axis)


class LinearFunction(Step):
    """The node of `linear`. Its inputs are x, W and, with a bias, b."""

    label = "LinearFunction"

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        x, w = arrays[:2]
        if x.dtype.kind != "f" or x.dtype != w.dtype or x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[1]:
            return False
        return len(arrays) == 2 or (arrays[2].dtype == x.dtype and arrays[2].shape == w.shape[:1])

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "W", "b")[: len(in_types)])
        x, w = in_types[:2]
        expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 2, w.ndim == 2, x.shape[1] == w.shape[1])
        for b in in_types[2:]:
            expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])

    def arithmetic(self, inputs: Sequence[Tensor], entering: Entering) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        x, w, *b = inputs
        if x.dtype == w.dtype:
            return (torch.nn.functional.linear(x, w, *b),), (x,)
        # A product of mixed dtypes is computed in the wider dtype and cast to x's; `matmul` keeps the wider dtype
        # (Chainer 7.8.1, seen).
        common = torch.promote_types(x.dtype, w.dtype)
        y = torch.nn.functional.linear(x.to(common), w.to(common)).to(x.dtype)
        return (y + b[0] if b else y,), ()

    def gradients(self, inputs: Sequence[Tensor], gys: Sequence[Any], wanted: Sequence[bool]) -> Found:
        x, w = inputs[:2]
        (gy,) = gys
        return [gy.mm(w) if wanted[0] else None, (gy.t(), x), gy.sum(0) if wanted[-1] else None]


def linear(x: VariableLike, W: VariableLike, b: VariableLike = None, n_batch_axes: int = 1) -> Variable:
    """`x @ W.T + b` for x [B, ...], W [N, M] and b [N]; the axes of x behind the batch axes are flattened.

    Args:
        n_batch_axes: how many leading axes of `x` are kept (ValueError unless positive).

    Raises:
        InvalidType: sizes or dtypes do not fit.
    """
    if n_batch_axes <= 0:
        raise ValueError("n_batch_axes should be greater than 0.")
    batch_shape = x.shape[:n_batch_axes]
    if n_batch_axes > 1:
        x = x.reshape(size_of_shape(batch_shape), -1)
    elif x.ndim > 2:
        x = x.reshape(x.shape[0], -1)
    (y,) = LinearFunction().apply((x, W) if b is None else (x, W, b))
    return y.reshape((*batch_shape, -1)) if n_batch_axes > 1 else y


def _pair_of_vectors(node: object, e1: Type, e2: Type, w: Type, *others: Type) -> None:
    expect(e1.dtype.kind == "f", e1.ndim >= 2, e2.dtype == e1.dtype, e2.ndim >= 2, e1.shape[0] == e2.shape[0])
    expect(w.dtype == e1.dtype, w.ndim == 3, *[other.dtype == e1.dtype for other in others])


@function("BilinearFunction", _pair_of_vectors)
def _bilinear(e1: Tensor, e2: Tensor, W: Tensor, V1: Tensor | None, V2: Tensor | None, b: Tensor | None) -> Tensor:
    e1, e2 = e1.flatten(1), e2.flatten(1)
    y = torch.einsum("bi,bj,ijk->bk", e1, e2, W)
    return y if V1 is None or V2 is None or b is None else y + e1 @ V1 + e2 @ V2 + b


def bilinear(
    e1: VariableLike,
    e2: VariableLike,
    W: VariableLike,
    V1: VariableLike = None,
    V2: VariableLike = None,
    b: VariableLike = None,
) -> Variable:
    """`e1 W e2 + e1 V1 + e2 V2 + b` for e1 [B, I], e2 [B, J], W [I, J, K]; V1, V2 and b all or none (ValueError)."""
    if len({x is None for x in (V1, V2, b)}) > 1:
        raise ValueError("All coefficients and bias for bilinear() must be None, if at least one of them is None.")
    return _bilinear(e1, e2, W, V1, V2, b)


def _ids_and_rows(node: object, x: Type, w: Type) -> None:
    expect(x.dtype.kind == "i", x.ndim >= 1, w.dtype.kind == "f", w.ndim == 2)


@function("EmbedIDFunction", _ids_and_rows, named=False)
def embed_id(x: Tensor, W: Tensor, ignore_label: int | None = None) -> Tensor:
    """The rows of W [V, N] named by int ids x [...], as [..., N]; zeros for `ignore_label`."""
    ids, ignored = x.long(), None
    if ignore_label is not None:
        ignored = ids == ignore_label
        ids = torch.where(ignored, 0, ids)
    if config.debug and bool(((ids < 0) | (ids >= len(W))).any()):
        raise ValueError("Each not ignored `x` value need to satisfy `0 <= x < len(W)`")
    # -1 is the last row, as in NumPy (Chainer 7.8.1, seen); torch's embedding raises an error.
    ids = torch.where(ids < 0, ids + len(W), ids)
    known = ids.numel() and not torch.compiler.is_compiling()  # an exported graph has no values yet
    if known and not (int(ids.min()) >= 0 and int(ids.max()) < len(W)):
        raise IndexError(f"embed_id: ids must be below {len(W)}, the number of rows of W, got {int(ids.max())}")
    y = torch.nn.functional.embedding(ids, W)
    return y if ignored is None else y.masked_fill(ignored.unsqueeze(-1), 0)


def _square(ndim: int) -> Any:
    def check(node: object, a: Type) -> None:
        expect(a.dtype.kind == "f", a.ndim == ndim, a.shape[-1] == a.shape[-2])

    return check


def _wide(a: Tensor) -> Tensor:
    """In single precision at least: torch has no linear algebra of float16."""
    return a.to(torch.promote_types(a.dtype, torch.float32))


@function("BatchDet", _square(3), label="det")
def batch_det(a: Tensor) -> Tensor:
    """The determinants of a batch of square matrices."""
    return torch.linalg.det(_wide(a)).to(a.dtype)


def det(a: VariableLike) -> Variable:
    """The determinant of a square matrix."""
    return reshape(batch_det(reshape(a, (1, *a.shape))), ())


def _inverse(a: Tensor) -> Tensor:
    # `inv_ex` does not raise torch's error, as Chainer raises ValueError (7.8.1, seen).
    inverse, info = torch.linalg.inv_ex(_wide(a))
    if bool(info.any()):
        raise ValueError("Input has singular matrices.")
    return inverse.to(a.dtype)


@function("Inv", _square(2))
def inv(a: Tensor) -> Tensor:
    """The inverse of a square matrix (ValueError if there is none)."""
    return _inverse(a)


@function("BatchInv", _square(3))
def batch_inv(a: Tensor) -> Tensor:
    """The inverses of a batch of square matrices (ValueError if there are none)."""
    return _inverse(a)


@function("Cholesky", _square(2), label="cholesky")
def cholesky(a: Tensor) -> Tensor:
    """The lower triangular L with `L @ L.T = a` for a positive definite matrix (LinAlgError for another)."""
    lower, info = torch.linalg.cholesky_ex(_wide(a))
    if bool(info.any()):
        raise numpy.linalg.LinAlgError("Matrix is not positive definite")
    return lower.to(a.dtype)
