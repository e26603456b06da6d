"""`mx.np.linalg`: torch's linear algebra on arrays."""

from typing import Any

import torch

from ..base import Sizes
from ..operators.arithmetic import whole_of
from .apply import apply
from .fallback import LINALG

__all__ = ["cholesky", "det", "eigvalsh", "inv", "norm", "pinv", "slogdet", "solve", "svd", *LINALG]

globals().update(LINALG)


def norm(x: Any, ord: Any = None, axis: Sizes = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices."""

    # "inf" is a norm of all elements, the number inf a norm of the rows (1.9.1, recorded).
    words = ord in ("inf", "-inf")
    function: Any = torch.linalg.vector_norm if words and axis is None else torch.linalg.norm
    order = float(ord) if words else ord

    def compute(t: torch.Tensor) -> torch.Tensor:
        if t.is_floating_point():
            return function(t, order, axis, keepdims)
        return whole_of(function(t.double(), order, axis, keepdims), t.dtype)  # 1.9.1, recorded

    return apply(compute, x)


def _function(name: str) -> Any:
    function = getattr(torch.linalg, name)

    def compute(*arrays: Any) -> Any:
        return apply(
            lambda *tensors: tuple(found) if isinstance(found := function(*tensors), tuple) else found, *arrays
        )

    compute.__name__ = name
    compute.__doc__ = f"`torch.linalg.{name}` of arrays."
    return compute


cholesky, det, inv, slogdet, solve = map(_function, ("cholesky", "det", "inv", "slogdet", "solve"))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices. Only the lower ("L") or the upper ("U") triangle is read."""
    return apply(lambda t: torch.linalg.eigvalsh(t, UPLO.upper()), a)


def pinv(a: Any, rcond: float = 1e-15, hermitian: bool = False) -> Any:
    """Pseudo-inverses; singular values below `rcond` times the largest singular value count as zero."""
    return apply(lambda t, bound: torch.linalg.pinv(t, rtol=bound, hermitian=hermitian), a, rcond)


def svd(a: Any) -> Any:
    """The singular value decomposition (u, s, v^T), in the reduced form."""
    return apply(lambda t: tuple(torch.linalg.svd(t, full_matrices=False)), a)
