"""Orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy

from .. import backend
from ..initializer import Initializer
from ..utils.array import size_of_shape

# mode -> (a wide matrix is refused, a tall matrix is refused)
_REFUSED = {"auto": (False, False), "projection": (False, True), "embedding": (True, False), "basis": (True, True)}


class Orthogonal(Initializer):
    """`scale` times a random matrix with orthonormal rows or columns (Saxe et al., 2013).

    Args:
        mode: "auto", or what the matrix must be: a "projection" (not taller than wide), an "embedding" (not wider than
            tall) or a "basis" (square).
    """

    def __init__(self, scale: float = 1.1, dtype: Any = None, mode: str = "auto", *, rng: Any = None) -> None:
        if mode not in _REFUSED:
            raise ValueError(f"Invalid mode: {mode!r}. Choose from {', '.join(map(repr, _REFUSED))}.")
        self.scale = scale
        self.mode = mode
        self.rng = rng
        super().__init__(dtype)

    def __call__(self, array: Any) -> None:
        self.check_dtype(array)
        draw = numpy.random if self.rng is None else self.rng
        if not array.shape:
            array[...] = self.scale * (2 * int(draw.randint(2)) - 1)
            return
        if not array.size:
            raise ValueError("Array to be initialized must be non-empty.")
        n_out, n_in = len(array), size_of_shape(array.shape[1:])
        no_wide, no_tall = _REFUSED[self.mode]
        if (n_in > n_out and no_wide) or (n_in < n_out and no_tall):
            raise ValueError(
                f"Cannot make orthogonal {self.mode}. shape = {array.shape}, interpreted as {n_in}-dim input and "
                f"{n_out}-dim output."
            )
        normal = draw.normal(size=(n_out, n_in))
        q, r = numpy.linalg.qr(normal.T if n_in > n_out else normal)
        q = q * numpy.copysign(self.scale, numpy.diag(r))
        q = q.T if n_in > n_out else q
        backend.copyto(array, q.reshape(array.shape).astype(array.dtype))
