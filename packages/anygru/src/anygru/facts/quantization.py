"""How a frozen layer stores weights: float32, bfloat16, or int8 with a scale for each row.

"bfloat16_rows" stores bfloat16. Its kernels also round the rows of inputs and states to bfloat16 before they multiply them,
as torch does for tensors in bfloat16, where the CPU multiplies bfloat16 (AVX512_BF16, AMX, Arm's bfmmla).

int8 is symmetric: a value q of a row with scale s means q * s, q between -127 and 127. Biases stay float32.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from ..errors import ArgumentError

WeightFormat: TypeAlias = Literal["float32", "bfloat16", "bfloat16_rows", "int8"]

DTYPES: dict[WeightFormat, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "bfloat16_rows": torch.bfloat16,
    "int8": torch.int8,
}
"""The names of the formats, and the dtype of a weight matrix in each."""


class Stored(NamedTuple):
    """The stored form of a weight matrix or a bias."""

    values: Tensor
    """[3H, K], or a bias [3H], which is float32 in every format; with G groups [G, 3H/G, K] and [G, 3H/G]."""
    scale: Tensor | None = None
    """float32, positive, a value for each row, if values are int8; otherwise None."""


def check_format(weights: WeightFormat) -> torch.dtype:
    """The dtype of weight matrices in a format.

    Raises:
        ArgumentError: no format has this name.
    """
    if not isinstance(weights, str) or weights not in DTYPES:
        raise ArgumentError(f"weights must be one of {', '.join(DTYPES)}, got {weights!r}")
    return DTYPES[weights]


def quantize(tensor: Tensor, weights: WeightFormat, nearest: bool = False) -> Stored:
    """A float32 weight matrix, or a bias, in the named format; the memory is shared where nothing changes.

    nearest: round each int8 weight by itself, as `rounded` does.

    Raises:
        ArgumentError: no format has this name, or int8 cannot hold the values because one is infinite or NaN.
    """
    dtype = check_format(weights)
    tensor = tensor.detach()
    if tensor.dim() == 1 or dtype is not torch.int8:
        return Stored(tensor if tensor.dim() == 1 else tensor.to(dtype))
    scale = _scale(tensor)
    if tensor.is_meta:
        return Stored(tensor.to(torch.int8), scale)
    if not bool(torch.isfinite(scale).all()):
        raise ArgumentError("int8 holds finite weights only, and one is infinite or NaN")
    if nearest:
        return Stored(torch.round(tensor / scale.unsqueeze(-1)).to(torch.int8), scale)
    scale = _kept_scale(tensor, scale) if tensor.numel() else scale
    parts = [_rounded_together(part.cpu(), scale.cpu()) for part in tensor.split(_AT_MOST, 1)]
    return Stored(torch.cat(parts, 1).to(tensor.device), scale)


def _scale(matrix: Tensor) -> Tensor:
    """The scales of the rows of int8 weights."""
    greatest = matrix.abs().amax(-1) if matrix.shape[-1] else matrix.new_zeros(matrix.shape[:-1])
    # A row of zeros, or of numbers so small that a 127th underflows, gets a scale that is not 0.
    return (greatest / 127).clamp(min=torch.finfo(torch.float32).tiny)


_PROBED = 16
"""Columns by which most scales of a row are ruled out."""
_WHOLE = 1e-4
"""How far a quotient may be from a whole number that is: float32 moves 127 scales by at most 1e-5 of a scale."""


def _kept_scale(matrix: Tensor, scale: Tensor) -> Tensor:
    """The scales of a matrix [rows, K], where a row of whole multiples of another scale keeps that one.

    So weights that were int8 before, such as RNNoise's (n / 256), do not change.
    """
    greatest, smallest = matrix.abs().amax(1), torch.finfo(torch.float32).tiny
    kept, left = scale.clone(), torch.ones(len(matrix), dtype=torch.bool, device=matrix.device)
    for most in range(127, 0, -1):  # the greatest magnitude of the row, in scales
        tried = (greatest / most).clamp(min=smallest)
        fits = left & _are_whole(matrix[:, :_PROBED], tried)
        places = torch.nonzero(fits).flatten()
        places = places[_are_whole(matrix[places], tried[places])]
        kept[places] = tried[places]
        left[places] = False
    return kept


def _are_whole(rows: Tensor, scale: Tensor) -> Tensor:
    counts = rows / scale.unsqueeze(1)
    return ((counts - torch.round(counts)).abs() <= _WHOLE).all(1)


def rounded(matrix: Tensor, weights: WeightFormat) -> Tensor:
    """Round a weight matrix to the values that a format can hold; its gradient passes to the matrix unchanged.

    The straight-through estimator of Bengio et al. 2013 (arXiv:1308.3432).
    """
    exact = matrix.detach()
    if weights == "int8":
        scale = _scale(exact).unsqueeze(-1)
        exact = torch.round(exact / scale) * scale
    else:
        exact = exact.to(DTYPES[weights]).to(matrix.dtype)
    return exact + (matrix - matrix.detach())  # the sum is exact, since the difference is 0


def quantize_groups(tensor: Tensor, weights: WeightFormat, nearest: bool = False) -> Stored:
    """`quantize` of each group of a tensor [G, ...]."""
    parts = [quantize(part, weights, nearest) for part in tensor]
    scales = [part.scale for part in parts if part.scale is not None]
    return Stored(torch.stack([part.values for part in parts]), torch.stack(scales) if scales else None)


LIKE_NOISE = 2.0
"""`_rounded_together` assumes noise in a row's input or state: its variance, in units of the variance along the
weights."""
_AT_MOST = 1024
"""Columns that make up for one another's errors: time and memory grow with their square, and 100,000 inputs are possible."""
_TOGETHER = 64
"""Columns in a block; one product adds the errors of a block to all later columns."""


def _rounded_together(weight: Tensor, scale: Tensor) -> Tensor:
    """Quantize a matrix [3H, K] to int8; each column compensates for the errors of earlier columns.

    An error e of the weights costs e C e^T, where C is the covariance of the values of a row. C is unknown without
    data. Trained weights are large for frequent inputs, so W^T W plus noise approximates it. With C = R R^T, R
    triangular, column k is moved so that column k of e R becomes zero, then rounded (GPTQ, Frantar et al. 2023, in the
    order of columns).
    """
    weight, scale = weight.double(), scale.double()
    together = weight.T @ weight
    together.diagonal().add_(LIKE_NOISE * together.diagonal().mean())
    exact = (weight / scale.unsqueeze(1)).T.contiguous()  # a row for each column
    nearest = torch.round(exact)
    if not together.any():
        return nearest.T.to(torch.int8).contiguous()
    factor = torch.linalg.cholesky(together.flip(0, 1)).flip(0, 1)
    passed_on = (factor / factor.diagonal()).T.contiguous()
    moved, error = exact.clone(), torch.zeros_like(exact)
    for start in range(0, len(exact), _TOGETHER):
        end = min(start + _TOGETHER, len(exact))
        for k in range(start, end):
            wanted = moved[k] + passed_on[k, start:k] @ error[start:k]
            # The greatest weights are kept, so that the scale of the rounded row does not change.
            rounded = torch.where(nearest[k].abs() == 127, nearest[k], torch.round(wanted).clamp(-127, 127))
            error[k] = exact[k] - rounded
        moved[end:] += passed_on[end:, start:end] @ error[start:end]
    return torch.round(exact - error).T.to(torch.int8).contiguous()


GREATEST = 32512.0
"""The 16-bit value of a row's greatest magnitude; see csrc/int8_rows.hpp."""


def round_rows(rows: Tensor) -> Tensor:
    """Rows of the input or the state, rounded to 16 bits for int8 weights; rows with an infinity or NaN stay unchanged."""
    if rows.shape[-1] == 0:
        return rows
    greatest = rows.abs().amax(-1, keepdim=True)
    unit = greatest.clamp(min=1e-30) / GREATEST
    return torch.where(torch.isfinite(greatest), torch.round(rows / unit) * unit, rows)


def check(stored: Stored) -> list[tuple[str, str]]:
    """The fault in the numbers of a stored weight: ("" for its values or "_scale", the reason)."""
    values, scale = stored
    found = []
    if values.dtype is torch.int8 and not values.is_meta and bool((values == -128).any()):
        found.append(("", "int8 weights must lie between -127 and 127, and one is -128"))
    if scale is not None and not scale.is_meta and not bool(((scale > 0) & torch.isfinite(scale)).all()):
        worst = scale[~((scale > 0) & torch.isfinite(scale))][0].item()
        found.append(("_scale", f"scales must be positive and finite, and one is {worst:g}"))
    return found


def dequantize(stored: Stored) -> Tensor:
    """The values of a stored weight; int8 and bfloat16 become float32, others keep their dtype."""
    values, scale = stored
    if scale is not None:
        return values.float() * scale.unsqueeze(-1)
    return values.float() if values.dtype is torch.bfloat16 else values


def dequantize_all(stored: Sequence[Stored]) -> list[Tensor]:
    """`dequantize` of each."""
    return [dequantize(one) for one in stored]
