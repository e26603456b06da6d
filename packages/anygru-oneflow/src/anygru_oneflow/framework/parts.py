"""Operators on global tensors that each process computes on its part alone.

These are operators for which torch has no rule over processes, or a rule that is wrong for a layout or a derivative. The
first global tensor stays split if the operator allows it; the other tensors are whole on every process, or split as the
first.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.utils import _pytree as pytree

from ..processes import global_tensor

# The dimensions of the first tensor that each process needs whole, for a call; None: all.
Needs = Callable[[DTensor, Sequence[Any], dict[str, Any]], Iterable[int] | None]


def _none(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Iterable[int]:
    return ()


def _all(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
    return None


def _channels(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Iterable[int]:
    return (1,) if tensor.dim() > 1 else ()


def _but_the_batch(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Iterable[int]:
    return range(1, tensor.dim())


def _last(count: int) -> Needs:
    """The last dimensions; of fewer all."""
    return lambda tensor, arguments, keywords: range(max(tensor.dim() - count, 0), tensor.dim())


def _named(place: int, name: str, usual: int | None) -> Needs:
    """The dimension in an argument; all if it is None."""

    def needs(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Iterable[int] | None:
        dim = arguments[place] if len(arguments) > place else keywords.get(name, usual)
        return (dim,) if type(dim) is int else None

    return needs


def _normalized(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Iterable[int]:
    shape = arguments[1] if len(arguments) > 1 else keywords["normalized_shape"]
    return range(tensor.dim() - len(shape), tensor.dim())


def _padded(tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Iterable[int]:
    count = len(arguments[1] if len(arguments) > 1 else keywords["pad"])
    return range(tensor.dim() - count // 2, tensor.dim())


_EACH_NUMBER = [
    "relu6", "hardtanh", "hardswish", "log_sigmoid", "hardshrink", "softshrink", "abs", "__abs__", "softsign",
]  # fmt: skip
# OneFlow 0.9.0 normalizes a batch so: each process by its own part's statistics (recorded).
_EACH_CHANNEL = ["batch_norm", "group_norm", "instance_norm", "prelu"]
_EVERYTHING = [
    "amax", "amin", "nonzero", "argwhere", "masked_select", "searchsorted", "bincount", "as_strided", "index_put",
    "ctc_loss", "quantile", "dot", "affine_grid",
]  # fmt: skip

NEEDS: dict[str, Needs] = {
    **dict.fromkeys(_EACH_NUMBER, _none),
    **dict.fromkeys(_EACH_CHANNEL, _channels),
    **dict.fromkeys(_EVERYTHING, _all),
    **dict.fromkeys(
        [f"{kind}{axes}d" for kind in ("conv", "conv_transpose") for axes in (1, 2, 3)]
        + ["grid_sample", "fold", "im2col"],
        _but_the_batch,
    ),
    **{
        f"{kind}pool{axes}d{suffix}": _last(axes)
        for kind in ("avg_", "max_", "adaptive_avg_", "adaptive_max_")
        for axes in (1, 2, 3)
        for suffix in ("", "_with_indices")
    },
    "glu": _named(1, "dim", -1),
    "prod": _named(1, "dim", None),
    "std": _named(1, "dim", None),
    "var": _named(1, "dim", None),
    "cumprod": _named(1, "dim", None),
    "layer_norm": _normalized,
    "rms_norm": _normalized,
    "pad": _padded,
    "unfold": _named(1, "dimension", None),
}
# Losses of each pair of numbers, and then their mean or sum.
LOSSES_OF_PAIRS = {
    "mse_loss", "l1_loss", "smooth_l1_loss", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits",
}  # fmt: skip
NEEDS |= dict.fromkeys(LOSSES_OF_PAIRS, _none)
# Arguments with the batch of the first argument.
_WITH_THE_BATCH = {"grid_sample": (1,)}


def takes(name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether the operator is computed in parts."""
    if name == "__getitem__":
        return any(isinstance(part, torch.Tensor) and part.dtype == torch.bool for part in _parts(arguments[1]))
    if name in ("amax", "amin"):  # torch's rule for some dimensions is right
        return len(arguments) == 1 and keywords.get("dim") is None
    return name in NEEDS


def _parts(index: Any) -> Sequence[Any]:
    return index if isinstance(index, tuple) else (index,)


def compute(function: Callable[..., Any], name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The function of each process's part. Call it where torch's functions are torch's own."""
    values, structure = pytree.tree_flatten((list(arguments), dict(keywords)))
    first = next(value for value in values if isinstance(value, DTensor))
    whole = NEEDS.get(name, _all)(first, arguments, keywords)
    over = None if whole is None else _split_over(moved(first, whole, closes=True))
    layout: list[Placement] = [
        Replicate() if over is None or kind.is_replicate() else Shard(over) for kind in first.placements
    ]
    beside = [arguments[place] for place in _WITH_THE_BATCH.get(name, ()) if len(arguments) > place]

    def part(value: Any) -> Any:
        if not isinstance(value, DTensor):
            return value
        if (
            value is first
            or (name in LOSSES_OF_PAIRS and value.shape == first.shape)
            or (over == 0 and any(value is other for other in beside))
        ):
            return _local(value, layout, layout)
        gradients = [Partial() if isinstance(kind, Shard) else kind for kind in layout]
        return _local(value, [Replicate()] * len(layout), gradients)

    given, named = pytree.tree_unflatten([part(value) for value in values], structure)
    if "inplace" in named:  # torch refuses to change a part; programs take the result
        named["inplace"] = False

    def assembled(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        sizes, own = list(value.shape), list(layout)
        if over is not None and sizes:
            # A reduction over a dimension before it has moved it.
            place = over - (len(sizes) < first.dim() and min(dim % first.dim() for dim in whole or [0]) < over)
            sizes[place] = first.shape[over]
            own = [Shard(place) if isinstance(kind, Shard) else kind for kind in layout]
        if first.device_mesh.get_coordinate() is None:
            value = value.reshape(-1)[:0]
        # Its copy may be changed in place; a tensor assembled from parts may not.
        return global_tensor.assembled(value.as_subclass(torch.Tensor), first.device_mesh, own, tuple(sizes)).clone()

    return pytree.tree_map(assembled, function(*given, **named))


def _local(value: DTensor, layout: Sequence[Placement], gradients: Sequence[Placement]) -> torch.Tensor:
    piece = global_tensor.piece_of(global_tensor.redistribute(value, layout), gradients)
    if value.device_mesh.get_coordinate() is None:
        # A process outside of the mesh holds nothing. It computes on zeros, for the shape of the result and its backward pass.
        return piece.new_zeros(value.shape) + piece.sum().to(piece.dtype)
    return piece


def _split_over(tensor: DTensor) -> int | None:
    """The first dimension over which a tensor is split."""
    return next((kind.dim % tensor.dim() for kind in tensor.placements if isinstance(kind, Shard)), None)


def moved(value: Any, whole: Iterable[int], closes: bool = False, exchanged: bool = False) -> Any:
    """A global tensor with no split over these dimensions, and without open sums if it `closes`; other values unchanged.

    A split or open sum that has to go becomes a split over the first other dimension that has something for each process.

    Args: exchanged: whether the dimension that is needed whole and the last dimension have exchanged places.
    """
    if not isinstance(value, DTensor):
        return value
    needed = {dim % max(value.dim(), 1) for dim in whole}
    order = list(range(value.dim()))
    if exchanged and order:
        (own,) = needed
        order[own], order[-1] = order[-1], order[own]
    layout: list[Placement] = list(value.placements)
    for axis, kind in enumerate(layout):
        if (isinstance(kind, Shard) and kind.dim in needed) or (closes and kind.is_partial()):
            processes = value.device_mesh.size(axis)
            free = [dim for dim in order if dim not in needed and value.shape[dim] >= processes]
            layout[axis] = Shard(free[0]) if free else Replicate()
    return value if layout == list(value.placements) else global_tensor.redistribute(value, layout)


def loss_of_labels(function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The mean of a cross entropy or negative log-likelihood with weights, or with labels that do not count.

    Torch's rule takes the mean of each process's mean. The mean is over the labels that count, of all processes.
    """
    names = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing")
    given = {**dict(zip(names, arguments, strict=False)), **keywords}
    labels, weight, ignored = given["target"], given.get("weight"), given.get("ignore_index", -100)
    losses = function(**{**given, "reduction": "none"})
    counts = labels != ignored
    if weight is None:
        count = counts.sum()
    else:
        weights = moved(weight, range(weight.dim()), closes=True)
        count = (torch.where(counts, weights[torch.where(counts, labels, 0)], 0)).sum()
    return losses.sum() / count


def loss_of_pairs(function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A loss of pairs of numbers, such as a squared error; torch's rule for its second derivative is wrong for a split."""
    values, keywords = list(arguments), dict(keywords)
    if len(values) < 2:
        values += [keywords.pop(name) for name in ("input", "target")[len(values) :]]
    shape = torch.broadcast_shapes(values[0].shape, values[1].shape)
    values[:2] = [value if value.shape == shape else value.expand(shape) for value in values[:2]]
    if isinstance(keywords.get("weight"), DTensor):
        keywords["weight"] = keywords["weight"].expand(shape)
    reduction = keywords.pop("reduction", "mean")
    losses = compute(function, function.__name__, values, {**keywords, "reduction": "none"})
    if reduction == "mean":
        return losses.mean()
    total = losses if reduction == "none" else losses.sum()
    return total / shape[0] if reduction == "batchmean" else total


def is_weighted_mean(name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether a loss of labels is a mean in which they count differently, so that its parts do not add up by themselves."""
    if name not in ("cross_entropy", "nll_loss") or keywords.get("reduction", "mean") != "mean":
        return False
    return bool(math.prod(arguments[1].shape)) and not arguments[1].dtype.is_floating_point
