"""Functions of OneFlow that torch writes as indexing, and two measures of predictions."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils.dlpack

from .dressing import dress, torch_dtype
from .tensor import Tensor

__all__ = [
    "batch_gather", "broadcast_like", "from_dlpack", "gather_nd", "in_top_k", "index_select", "quick_gelu", "roc_auc_score",
    "scatter_nd", "slice", "slice_update", "tensor_scatter_nd_update", "to_dlpack",
]  # fmt: skip

_Slices = Sequence[tuple[int | None, int | None, int | None]]
_slice = slice


def slice(input: Tensor, slice_tup_list: _Slices) -> Tensor:
    """A part of the tensor, by (start, stop, step) for each of its first dimensions."""
    return input[tuple(_slice(*part) for part in slice_tup_list)]  # type: ignore[return-value]


def slice_update(input: Tensor, update: Tensor, slice_tup_list: _Slices) -> Tensor:
    """Overwrite a part of the tensor in place, and return it."""
    input[tuple(_slice(*part) for part in slice_tup_list)] = update
    return input


def rows_or_zeros(function: Callable[[Tensor, Tensor], Any], rows: Tensor, index: Tensor, dim: int = 0) -> Any:
    """A function (rows, index) of torch that picks rows, where OneFlow 0.9.0 has zeros for indices that are too large.

    (Recorded on the CPU; a negative index ends OneFlow's process, and is an error here.)
    """
    try:
        return function(rows, index)
    except (IndexError, RuntimeError):
        fits = rows.dim() and -rows.dim() <= dim < rows.dim() and not torch_dtype(index).is_floating_point
        if not fits or rows.is_global or index.numel() == 0 or index.min().item() < 0:
            raise
    count = rows.shape[dim]
    sizes = list(rows.shape)
    sizes[dim] = 1
    longer = torch.cat([rows, torch.zeros(sizes, dtype=torch_dtype(rows), device=rows.device)], dim)
    return function(longer, torch.clamp(index, max=count))  # type: ignore[arg-type]


def index_select(input: Tensor, dim: int, index: Tensor) -> Any:
    """The rows along a dimension that a vector of places names; zeros for places that are too large."""
    return rows_or_zeros(lambda rows, places: torch.index_select(rows, dim, places), input, index, dim)


def gather_nd(input: Tensor, index: Tensor) -> Tensor:
    """The entries at places [..., K] of the first K dimensions."""
    torch_dtype(input)  # an array would take the places as well
    return input[index.long().unbind(-1)]  # type: ignore[return-value]


def scatter_nd(index: Tensor, update: Tensor, shape: Sequence[int]) -> Tensor:
    """Zeros of a shape with the updates added at places [..., K]."""
    place = update.placement.type if update.is_global else update.device
    zeros = torch.zeros(tuple(shape), dtype=torch_dtype(update), device=place)
    # Places named twice add up here; in `tensor_scatter_nd_update` the last one counts (recorded in 0.9.0).
    return dress(torch.index_put(zeros, index.long().unbind(-1), update, accumulate=True))


def tensor_scatter_nd_update(tensor: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of the tensor with the updates at places [..., K]."""
    return torch.index_put(tensor, indices.long().unbind(-1), updates)  # type: ignore[return-value]


def batch_gather(input: Tensor, index: Tensor) -> Tensor:
    """For each batch entry (all dimensions of the index but its last one), the rows that the index names."""
    dim = index.dim() - 1
    rows = index.long().reshape(*index.shape, *[1] * (input.dim() - index.dim()))
    return torch.take_along_dim(input, rows, dim)  # type: ignore[return-value]


def broadcast_like(input: Tensor, like: Tensor, broadcast_axes: Sequence[int] = ()) -> Tensor:
    """The tensor in the shape of another; `broadcast_axes` are the axes that it does not have."""
    torch_dtype(input)
    shape = list(input.shape)
    if len(shape) < like.dim():
        for axis in sorted(axis % like.dim() for axis in broadcast_axes):
            shape.insert(axis, 1)
    return input.reshape(shape).expand(like.shape)  # type: ignore[return-value]


def in_top_k(targets: Tensor, predictions: Tensor, k: int) -> Tensor:
    """Whether each label is among the k greatest predictions of its row [B, C]; equal ones count for it."""
    own = predictions.gather(1, targets.long().unsqueeze(1))
    # An infinite or undefined prediction of the label never counts in 0.9.0 (recorded).
    return ((predictions > own).sum(1) < k) & torch.isfinite(own.squeeze(1))  # type: ignore[return-value]


def roc_auc_score(label: Tensor, pred: Tensor) -> Tensor:
    """The area under the ROC curve of predictions of labels 0 and 1, as float32 [1]."""
    torch_dtype(label), torch_dtype(pred)
    flags, values = label.flatten() == 1, pred.flatten()
    with torch._C.DisableTorchFunctionSubclass():
        _, group, sizes = torch.unique(values, return_inverse=True, return_counts=True)
    ends = sizes.cumsum(0)
    ranks = ((2 * ends - sizes + 1).double() / 2)[group]  # of equal values their mean
    count = int(flags.sum())
    wins = ranks[flags].sum() - count * (count + 1) / 2
    return dress((wins / (count * (len(values) - count))).float().reshape(1))


def quick_gelu(x: Tensor) -> Tensor:
    """`x * sigmoid(1.702 * x)`."""
    return x * torch.sigmoid(1.702 * x)  # type: ignore[return-value]


def from_dlpack(capsule: object) -> Tensor:
    """The tensor of another library, in the same memory."""
    return dress(torch.utils.dlpack.from_dlpack(capsule))


def to_dlpack(tensor: Tensor) -> object:
    """The tensor for another library, in the same memory."""
    return torch.Tensor.__dlpack__(tensor.as_subclass(torch.Tensor))


Tensor.in_top_k = in_top_k  # type: ignore[attr-defined]
Tensor.index_select = index_select  # type: ignore[assignment, method-assign]
