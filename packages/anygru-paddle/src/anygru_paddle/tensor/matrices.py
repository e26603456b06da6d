"""Decompositions and inverses: the functions of `paddle.linalg` except products, which are in `linalg`."""

from collections.abc import Sequence
from typing import Any

import torch

from .operation import operation, row

__all__ = [
    "cholesky_solve", "cond", "corrcoef", "cov", "det", "eig", "eigh", "eigvals", "eigvalsh", "householder_product",
    "inv", "lstsq", "lu", "lu_unpack", "matrix_power", "matrix_rank", "multi_dot", "pinv", "qr", "slogdet", "solve",
    "svd", "triangular_solve",
]  # fmt: skip


@operation
def lu(x: torch.Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """The LU decomposition: both factors in one matrix, the rows that were swapped (from 1), and with `get_infos` zeros."""
    if not pivot:
        raise ValueError("(InvalidArgument) lu without pivoting is not implemented on the CPU, but got pivots=False")
    factors, pivots, infos = torch.linalg.lu_factor_ex(x)
    # The zeros of a single matrix are [1] (recorded, 2.6.2).
    return (factors, pivots, torch.reshape(infos, [-1])) if get_infos else (factors, pivots)


@operation
def lu_unpack(
    x: torch.Tensor, y: torch.Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> Any:
    """P, L and U of a result of `lu`."""
    return tuple(torch.lu_unpack(x, y, unpack_ludata, unpack_pivots))


@operation
def lstsq(
    x: torch.Tensor, y: torch.Tensor, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> Any:
    """The least squares solution of x @ out = y, the residuals, the rank of x, and its singular values.

    Args:
        driver: LAPACK's: 'gels', 'gelsy' (the default), 'gelsd' or 'gelss'.

    Raises:
        ValueError: for another driver.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(
            f"Only support valid driver is 'gels', 'gelss', 'gelsd', 'gelsy' or None for CPU inputs. But got {driver}"
        )
    x, y = x.detach(), y.detach()  # no gradient in Paddle either
    solution, _, rank, values = torch.linalg.lstsq(x, y, rcond=rcond, driver=driver)
    tall = x.shape[-2] > x.shape[-1]
    residuals = torch.sum(torch.square(torch.sub(torch.matmul(x, solution), y)), dim=-2) if tall else x.new_zeros([0])
    return solution, residuals, torch.Tensor.to(rank, torch.int32), values


inv = row("inv", lambda x, name=None: torch.linalg.inv(x), "The inverse matrix.")
householder_product = row(
    "householder_product", lambda x, tau, name=None: torch.linalg.householder_product(x, tau), "The first columns of Q."
)
det = row("det", lambda x, name=None: torch.linalg.det(x), "The determinant.")
qr = row("qr", lambda x, mode="reduced", name=None: tuple(torch.linalg.qr(x, mode)), "The QR decomposition.")


@operation
def svd(x: torch.Tensor, full_matrices: bool = False, name: str | None = None) -> Any:
    """The singular value decomposition: U, S and the conjugate transpose of V."""
    return tuple(torch.linalg.svd(x, full_matrices))


@operation
def eigh(x: torch.Tensor, UPLO: str = "L", name: str | None = None) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    return tuple(torch.linalg.eigh(x, UPLO))


solve = row("solve", lambda x, y, name=None: torch.linalg.solve(x, y), "The solution of x @ out = y.")
matrix_power = row(
    "matrix_power", lambda x, n, name=None: torch.linalg.matrix_power(x, n), "The n-th power of a matrix."
)


@operation
def cholesky_solve(x: torch.Tensor, y: torch.Tensor, upper: bool = False, name: str | None = None) -> torch.Tensor:
    """The solution of A @ out = x, where y is the Cholesky factor of A."""
    return torch.cholesky_solve(x, y, upper)


@operation
def triangular_solve(
    x: torch.Tensor,
    y: torch.Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> torch.Tensor:
    """The solution of x @ out = y for a triangular x, or of its transpose."""
    x = torch.transpose(x, -1, -2) if transpose else x
    return torch.linalg.solve_triangular(x, y, upper=upper != transpose, unitriangular=unitriangular)


@operation
def cond(x: torch.Tensor, p: float | str | None = None, name: str | None = None) -> torch.Tensor:
    """The condition number by a norm, the 2-norm unless given."""
    return torch.linalg.cond(x, p)


@operation
def corrcoef(x: torch.Tensor, rowvar: bool = True, name: str | None = None) -> torch.Tensor:
    """The correlation coefficients of rows (columns unless `rowvar`)."""
    return torch.corrcoef(x if rowvar else torch.t(x))


@operation
def cov(
    x: torch.Tensor,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
    name: str | None = None,
) -> torch.Tensor:
    """The covariances of rows (columns unless `rowvar`), divided by count - 1 unless `ddof` is False."""
    return torch.cov(
        x if rowvar or x.ndim < 2 else torch.t(x), correction=int(ddof), fweights=fweights, aweights=aweights
    )


eig = row("eig", lambda x, name=None: tuple(torch.linalg.eig(x)), "Eigenvalues and eigenvectors.")
eigvals = row("eigvals", lambda x, name=None: torch.linalg.eigvals(x), "The eigenvalues.")


@operation
def eigvalsh(x: torch.Tensor, UPLO: str = "L", name: str | None = None) -> torch.Tensor:
    """The eigenvalues of a symmetric matrix."""
    return torch.linalg.eigvalsh(x, UPLO)


@operation
def matrix_rank(
    x: torch.Tensor, tol: float | torch.Tensor | None = None, hermitian: bool = False, name: str | None = None
) -> torch.Tensor:
    """How many singular values are above `tol`, as int32."""
    if tol is None:
        return torch.linalg.matrix_rank(x, hermitian=hermitian).to(torch.int32)  # int64 in torch
    return torch.linalg.matrix_rank(x, tol, hermitian).to(torch.int32)


@operation
def multi_dot(x: Sequence[torch.Tensor], name: str | None = None) -> torch.Tensor:
    """The product of several matrices, in the order that costs least."""
    return torch.linalg.multi_dot(list(x))


@operation
def pinv(x: torch.Tensor, rcond: float = 1e-15, hermitian: bool = False, name: str | None = None) -> torch.Tensor:
    """The pseudo-inverse."""
    return torch.linalg.pinv(x, rcond=rcond, hermitian=hermitian)


@operation
def slogdet(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Sign and logarithm of the determinant, stacked."""
    return torch.stack(tuple(torch.linalg.slogdet(x)))
