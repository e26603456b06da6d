"""Functions with other defaults, types of results or norms in OneFlow than in torch.

Each is a function of `oneflow`, and most are also methods of its tensors.
"""

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from . import parts
from .dressing import PAIRS, copied, dress, torch_dtype
from .dtype import dtype, plain, stored
from .tensor import Tensor

__all__ = [
    "allclose", "argsort", "argwhere", "bincount", "flatten", "flip", "index_add", "index_add_", "isclose", "log_softmax",
    "masked_fill", "masked_fill_", "masked_select", "narrow", "nonzero", "pad", "roll", "scatter", "softmax", "sort",
    "squeeze", "stft", "topk", "transpose", "unique", "where",
]  # fmt: skip


def sort(input: Tensor, dim: int = -1, descending: bool | None = False) -> Any:
    """The sorted `values`, and their places `indices` as int32, as OneFlow counts here."""
    # Equal values keep their order (recorded in 0.9.0 on the CPU).
    values, places = torch.sort(input, dim=dim, descending=bool(descending), stable=True)
    return PAIRS[torch.return_types.sort](values, places.to(torch.int32))


def argsort(input: Tensor, dim: int = -1, descending: bool | None = False) -> Any:
    """The places of the sorted values, as int32."""
    return sort(input, dim, descending)[1]


def topk(input: Tensor, k: int, dim: int | None = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k greatest or smallest values in order, and their places; of equal values the first come first (recorded in 0.9.0)."""
    axis = -1 if dim is None else dim
    values, places = torch.sort(input, dim=axis, descending=largest, stable=True)
    # Where k is more, OneFlow 0.9.0 gives all elements (recorded).
    kept = min(k, values.size(axis)) if values.dim() else k
    values, places = (each.narrow(axis, 0, kept).contiguous() for each in (values, places))
    return PAIRS[torch.return_types.topk](values, places)


def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """The places of elements that are not zero, a row for each, or a tensor for each dimension."""
    return torch.nonzero(input, as_tuple=True) if as_tuple else torch.nonzero(input)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0) -> Any:
    """Values around the tensor, from the last dimension on.

    Raises:
        AssertionError: more numbers than two for each dimension.
    """
    assert len(pad) <= 2 * input.dim(), f"pad: {len(pad)} numbers for a tensor of {input.dim()} dimensions"
    if mode == "constant" and min(pad, default=0) < 0 < max(pad):
        # Torch cuts before it adds, and fails if it would cut more than the size.
        added = torch.nn.functional.pad(input, [max(count, 0) for count in pad], mode, value)
        return torch.nn.functional.pad(added, [min(count, 0) for count in pad], mode, value)
    return torch.nn.functional.pad(input, pad, mode, value)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Any:
    """A part of a dimension. OneFlow 0.9.0 counts a negative start from the number of dimensions, not from the size (recorded).

    Raises:
        IndexError: the part begins before the dimension (0.9.0 reads the memory in front of the tensor there).
        RuntimeError: it ends behind the dimension.
    """
    if -input.dim() <= dim < input.dim() and -input.size(dim) <= start < 0:
        start += input.dim()
        if start < 0:
            raise IndexError(f"narrow(): start {start - input.dim()} is before the first place of dimension {dim}")
        if start + length > input.size(dim):
            raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.size(dim)})")
    return torch.narrow(input, dim, start, length)


def flip(input: Tensor, dims: int | tuple[int, ...] | list[int]) -> Any:
    """The tensor with one or several dimensions in the opposite order."""
    return torch.flip(input, [dims] if isinstance(dims, int) else dims)


def roll(
    input: Tensor, shifts: int | tuple[int, ...] | list[int], dims: int | tuple[int, ...] | list[int] | None = None
) -> Any:
    """The tensor with its values moved along dimensions, or without `dims` along all of them in one row.

    A negative dimension is not counted from the last one in OneFlow 0.9.0: -1 in the first place moves the values in a row.
    Other negative dimensions, and dimensions out of range, move nothing. Of a dimension named twice the first shift counts. (All
    recorded.)
    """
    axes = [dims] if isinstance(dims, int) else dims
    steps = [shifts] if isinstance(shifts, int) else list(shifts)
    if axes is None:
        return torch.roll(input, shifts)
    if len(axes) != len(steps) or not axes:
        return torch.roll(input, steps, axes)  # raises the error
    if axes[0] == -1:
        return torch.roll(input, steps[0])
    moved = {axis: step for axis, step in reversed(list(zip(axes, steps, strict=True))) if 0 <= axis < input.dim()}
    return torch.roll(input, list(moved.values()), list(moved)) if moved else input.clone()


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int | None = None) -> Any:
    """How often each number occurs, from 0 to the greatest, in all dimensions together; for no numbers, the count of 0."""
    # For an empty input 0.9.0 gives [0], and torch [] (recorded).
    numbers = (input.to(torch.uint8) if torch_dtype(input) is torch.bool else input).flatten()
    known = None if weights is None else weights.flatten()
    counts = torch.bincount(numbers, known, max(minlength or 0, 0 if input.numel() else 1))
    # The sums have the weights' type (recorded), where torch makes whole ones float64.
    return counts if known is None else counts.to(torch_dtype(known))


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Any:
    """A copy with the value where the mask, of bools or integers, is not zero."""
    return torch.masked_fill(input, mask.bool(), stored(value, torch_dtype(input)))


def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Any:
    """Put the value where the mask, of bools or integers, is not zero."""
    return torch.Tensor.masked_fill_(input, mask.bool(), stored(value, torch_dtype(input)))


def fill_(self: Tensor, value: Any) -> Any:
    """Put the value everywhere, as the type stores it; into a part of a leaf as well (recorded in 0.9.0)."""
    is_part = self._is_view() and self._base is not None and self._base.is_leaf and self._base.requires_grad
    torch.Tensor.fill_(self.detach() if is_part else self, stored(value, torch_dtype(self)))
    return self


def zero_(self: Tensor) -> Any:
    """Put zeros everywhere."""
    return fill_(self, 0)


def masked_select(input: Tensor, mask: Tensor) -> Any:
    """The values where the mask, of any type, is not zero."""
    return torch.masked_select(input, mask.bool())


def argwhere(input: Tensor, dtype: dtype | None = None) -> Any:
    """The places of elements that are not zero, a row for each, as int32 or `dtype`."""
    return torch.argwhere(input).to(torch.int32 if dtype is None else plain(dtype))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The different values, in ascending order or in the order of their first occurrence; places and counts as int32."""
    if isinstance(input, DTensor):
        return dress(parts.compute(unique, "", (input, sorted, return_inverse, return_counts, dtype), {}))
    counted = torch.int32 if dtype is None else plain(dtype)
    with torch._C.DisableTorchFunctionSubclass():
        # 0.9.0 has no `dim`: the values of all dimensions count together (recorded).
        values, inverse, counts = torch.unique(input.detach().flatten(), return_inverse=True, return_counts=True)
        if not sorted:
            first = torch.full_like(counts, inverse.numel())
            first = first.scatter_reduce(0, inverse, torch.arange(inverse.numel(), device=input.device), "amin")
            order = first.argsort()
            values, counts, inverse = values[order], counts[order], order.argsort()[inverse]
    results = [values]
    if return_inverse:
        results.append(inverse.view(input.shape).to(counted))
    if return_counts:
        results.append(counts.to(counted))
    return dress(results[0]) if len(results) == 1 else dress(tuple(results))


def where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    """x where the condition (bool or integers) holds, y elsewhere; float64 if one of them is a Python float and the other a
    tensor.
    """
    if x is None and y is None:
        return torch.where(condition)
    result = torch.where(condition.bool(), x, y)
    # 0.9.0 makes the float a float64 tensor, by which the other one is promoted; two floats are float32 (recorded).
    if isinstance(x, torch.Tensor) != isinstance(y, torch.Tensor) and isinstance(
        y if isinstance(x, torch.Tensor) else x, float
    ):
        return result.to(torch.float64)
    return result


def softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Any:
    """Exponentials that add up to 1; without `dim` along the first axis of 0, 1 or 3, otherwise along the second."""
    return torch.softmax(input, _first_or_second(input, dim), plain(dtype))


def log_softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Any:
    """The logarithm of `softmax`."""
    return torch.log_softmax(input, _first_or_second(input, dim), plain(dtype))


def _first_or_second(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    # torch has the same rule, with a warning; recorded in 0.9.0.
    return 0 if input.dim() in (0, 1, 3) else 1


# OneFlow 0.9.0 takes the absolute tolerance first, torch the relative one.


def isclose(input: Tensor, other: Tensor, atol: float = 1e-08, rtol: float = 1e-05, equal_nan: bool = False) -> Any:
    """Which values are as good as equal; bools all are (recorded in 0.9.0)."""
    if torch_dtype(input) is torch_dtype(other) is torch.bool:
        return torch.ones_like(input | other)
    return torch.isclose(input, other, rtol, atol, bool(equal_nan))


def allclose(input: Tensor, other: Tensor, atol: float = 1e-08, rtol: float = 1e-05, equal_nan: bool = False) -> bool:
    """Whether all values are as good as equal, of all processes for global tensors."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.allclose(input._whole(), other._whole(), rtol, atol, bool(equal_nan))


def copy_(self: Tensor, other: Any) -> None:
    """Overwrite the values, outside of the autograd graph. Returns None.

    Args:
        other: a tensor of any type, or an array of the same type and shape.

    Raises:
        AssertionError: an array of another type or shape.
    """
    source = other
    if isinstance(other, np.ndarray):
        known = torch.from_numpy(copied(other))
        assert known.dtype == torch_dtype(self), f"copy_: the array must be {self.dtype}, got {other.dtype}"
        assert known.shape == tuple(self.shape), f"copy_: the array must have shape {self.shape}, got {known.shape}"
        source = known
    # torch would record the copy as a step, and refuse a leaf that requires a gradient; 0.9.0 does neither.
    with torch.no_grad():
        if self.is_global and isinstance(source, Tensor) and source.is_global:
            source = source.to_global(self.placement, self.sbp)
        torch.Tensor.copy_(self.detach(), source)


def squeeze(input: Tensor, dim: int | tuple[int, ...] | list[int] | None = None) -> Any:
    """The tensor without dimensions of size 1: all of them, or only the dimensions in `dim`."""
    return torch.squeeze(input) if dim is None else torch.squeeze(input, dim)


def transpose(input: Tensor, dim0: int | tuple[int, ...] | list[int], dim1: int | None = None) -> Any:
    """The tensor with two dimensions exchanged, or with all dimensions in the order of a list."""
    return torch.permute(input, dim0) if dim1 is None else torch.transpose(input, dim0, dim1)  # type: ignore[arg-type]


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    return_complex: bool = False,
    **options: Any,
) -> Any:
    """The Fourier transform of each window, real and imaginary parts in the last dimension, without a gradient (as in 0.9.0).

    Raises:
        RuntimeError: `return_complex` is true; OneFlow has no complex numbers.
    """
    if return_complex:
        raise RuntimeError("stft(): OneFlow has no complex numbers; leave return_complex out")
    with torch._C.DisableTorchFunctionSubclass():
        flat = torch.ones(win_length or n_fft, dtype=input.dtype) if window is None else window
        found = torch.stft(input.detach(), n_fft, hop_length, win_length, flat, return_complex=True, **options)
        return dress(torch.view_as_real(found))


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any, *, reduce: str | None = None, inplace: bool = False
) -> Any:
    """The tensor with values of another one, or a number, at the places along a dimension; `reduce` adds or multiplies them."""
    function = torch.Tensor.scatter_ if inplace else torch.Tensor.scatter
    return function(input, dim, index, src, reduce=reduce) if reduce else function(input, dim, index, src)


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1) -> Any:
    """The tensor plus the rows of `source`, cast to its type, at the given places."""
    return torch.index_add(input, dim, index, source.to(torch_dtype(input)), alpha=alpha)


def index_add_(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1) -> Any:
    """Add rows of another tensor at the places."""
    return torch.Tensor.index_add_(input, dim, index, source.to(torch_dtype(input)), alpha=alpha)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` as a single dimension; a tensor without dimensions is returned unchanged
    (recorded in 0.9.0)."""
    flat = torch.flatten(input, start_dim, end_dim)
    return flat if input.dim() else flat.reshape(())


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Any:
    """Pieces of a dimension, in a new last one. Raises RuntimeError for a dimension that does not exist, as OneFlow does."""
    try:
        return torch.Tensor.unfold(self, dimension, size, step)
    except IndexError as error:
        raise RuntimeError(*error.args) from None


_functions: tuple[Callable[..., Any], ...] = (
    sort, argsort, argwhere, bincount, softmax, log_softmax, copy_, allclose, fill_, zero_, index_add, index_add_, isclose,
    masked_fill, masked_fill_, masked_select, flatten, narrow, nonzero, topk, flip, roll, scatter, squeeze, unfold,
    unique, where,
)  # fmt: skip
for _function in _functions:
    setattr(Tensor, _function.__name__, _function)
Tensor.scatter_ = partialmethod(scatter, inplace=True)  # type: ignore[assignment]
