"""Linear algebra on the last two axes, and products of arrays, by torch."""

from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError
from .arithmetic import same_dtype
from .registry import one_axis, operator, truth


def _transposed(matrix: Tensor, transpose: bool) -> Tensor:
    return matrix.transpose(-1, -2) if truth(transpose) else matrix


def _rows_last_but_one(matrix: Tensor, axis: int) -> Tensor:
    """Move the axis of the rows before the last axis, which contains the columns.

    Raises:
        MXNetError: for the last axis, or an axis that does not exist.
    """
    if one_axis(int(axis), matrix.dim()) == matrix.dim() - 1:
        raise MXNetError(f"axis must be an axis of rows, got {axis}, which holds the columns")
    return matrix.movedim(int(axis), -2)


def _one_dimensional(value: Tensor) -> Tensor:
    return value.reshape(1) if value.dim() == 0 else value


@operator("_linalg_gemm", "linalg_gemm", inputs=3)
def _gemm(
    A: Tensor,
    B: Tensor,
    C: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> Tensor:
    A, B, C = (_rows_last_but_one(matrix, axis) for matrix in (A, B, C))
    product = torch.matmul(_transposed(A, transpose_a), _transposed(B, transpose_b))
    return (alpha * product + beta * C).movedim(-2, int(axis))


@operator("_linalg_potrf", "linalg_potrf", alike=True)
def _potrf(A: Tensor, lower: bool = True) -> Tensor:
    return torch.linalg.cholesky(A, upper=not truth(lower))


@operator("_linalg_potri", "linalg_potri", alike=True)
def _potri(A: Tensor, lower: bool = True) -> Tensor:
    return torch.cholesky_inverse(A, upper=not truth(lower))


@operator("_linalg_trsm", "linalg_trsm", inputs=2)
def _trsm(
    A: Tensor, B: Tensor, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0
) -> Tensor:
    # A lower triangle becomes an upper one if it is transposed.
    upper = not truth(lower) ^ truth(transpose)
    return torch.linalg.solve_triangular(_transposed(A, transpose), alpha * B, upper=upper, left=not truth(rightside))


@operator("_linalg_trmm", "linalg_trmm", inputs=2)
def _trmm(
    A: Tensor, B: Tensor, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0
) -> Tensor:
    triangle = _transposed(torch.tril(A) if truth(lower) else torch.triu(A), transpose)
    return alpha * (torch.matmul(B, triangle) if truth(rightside) else torch.matmul(triangle, B))


@operator("_linalg_syrk", "linalg_syrk")
def _syrk(A: Tensor, transpose: bool = False, alpha: float = 1.0) -> Tensor:
    return alpha * torch.matmul(_transposed(A, transpose), _transposed(A, not truth(transpose)))


@operator("_linalg_sumlogdiag", "linalg_sumlogdiag")
def _sumlogdiag(A: Tensor) -> Tensor:
    return _one_dimensional(torch.log(torch.diagonal(A, dim1=-2, dim2=-1)).sum(-1))


@operator("_linalg_extractdiag", "linalg_extractdiag")
def _extractdiag(A: Tensor, offset: int = 0) -> Tensor:
    return torch.diagonal(A, int(offset), -2, -1).clone()


@operator("_linalg_makediag", "linalg_makediag")
def _makediag(A: Tensor, offset: int = 0) -> Tensor:
    return torch.diag_embed(A, int(offset))


@operator("_linalg_det", "linalg_det")
def _det(A: Tensor) -> Tensor:
    return _one_dimensional(torch.linalg.det(A))


@operator("_linalg_slogdet", "linalg_slogdet", visible=2)
def _slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    sign, logarithm = torch.linalg.slogdet(A)
    return _one_dimensional(sign), _one_dimensional(logarithm)


@operator("_linalg_inverse", "linalg_inverse", alike=True)
def _inverse(A: Tensor) -> Tensor:
    return torch.linalg.inv(A)


@operator("dot", inputs=2)
def _dot(
    lhs: Tensor, rhs: Tensor, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Any = None
) -> Tensor:
    if forward_stype not in (None, "default"):
        raise MXNetError(f"dot: forward_stype must be 'default', got {forward_stype!r}: there are no sparse arrays")
    same_dtype(lhs, rhs)
    if lhs.dim() == 1 and rhs.dim() == 1:
        # MXNet 1.9.1 has no arrays without axes: the product of two vectors has shape (1,) (observed).
        return torch.dot(lhs, rhs).reshape(1)
    if truth(transpose_a):
        # This transpose moves the first axis to the end: (2, 3, 4) becomes (3, 4, 2) (MXNet 1.9.1, observed).
        lhs = lhs.permute((*range(1, lhs.dim()), 0))
    if truth(transpose_b):
        rhs = rhs.permute((rhs.dim() - 1, *range(rhs.dim() - 1)))
    if lhs.shape[-1] != rhs.shape[0]:
        raise MXNetError(f"dot: {tuple(lhs.shape)} and {tuple(rhs.shape)} do not fit each other")
    return torch.tensordot(lhs, rhs, 1)


@operator("batch_dot", inputs=2)
def _batch_dot(
    lhs: Tensor, rhs: Tensor, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Any = None
) -> Tensor:
    if forward_stype not in (None, "default"):
        raise MXNetError(
            f"batch_dot: forward_stype must be 'default', got {forward_stype!r}: there are no sparse arrays"
        )
    same_dtype(lhs, rhs)
    lhs = lhs.transpose(-1, -2) if truth(transpose_a) else lhs
    rhs = rhs.transpose(-1, -2) if truth(transpose_b) else rhs
    if lhs.shape[:-2] != rhs.shape[:-2] or lhs.shape[-1] != rhs.shape[-2]:
        raise MXNetError(f"batch_dot: {tuple(lhs.shape)} and {tuple(rhs.shape)} do not fit each other")
    return torch.matmul(lhs, rhs)


@operator("_linalg_gemm2", "linalg_gemm2", inputs=2)
def _gemm2(
    A: Tensor, B: Tensor, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2
) -> Tensor:
    left, right = (_rows_last_but_one(matrix, axis) for matrix in (A, B))
    product = torch.matmul(_transposed(left, transpose_a), _transposed(right, transpose_b)) * alpha
    return product.movedim(-2, int(axis))
