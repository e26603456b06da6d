"""Decompositions and inverses: what `paddle.linalg` has beside the products of `linalg`."""

from typing import Any

import torch

from .operation import operation

__all__ = ["det", "eigh", "inv", "matrix_power", "qr", "solve", "svd"]

inv = operation(lambda x, name=None: torch.linalg.inv(x))
det = operation(lambda x, name=None: torch.linalg.det(x))
inv.__name__, inv.__doc__ = "inv", "The inverse matrix."
det.__name__, det.__doc__ = "det", "The determinant."


@operation
def qr(x: torch.Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """The QR decomposition."""
    return tuple(torch.linalg.qr(x, mode))


@operation
def svd(x: torch.Tensor, full_matrices: bool = False, name: str | None = None) -> Any:
    """The singular value decomposition: U, S and the conjugate transpose of V."""
    return tuple(torch.linalg.svd(x, full_matrices))


@operation
def eigh(x: torch.Tensor, UPLO: str = "L", name: str | None = None) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    return tuple(torch.linalg.eigh(x, UPLO))


@operation
def solve(x: torch.Tensor, y: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The solution of x @ out = y."""
    return torch.linalg.solve(x, y)


@operation
def matrix_power(x: torch.Tensor, n: int, name: str | None = None) -> torch.Tensor:
    """The n-th power of a matrix."""
    return torch.linalg.matrix_power(x, n)
