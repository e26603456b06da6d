"""Operators on split tensors that need no communication.

This is data parallelism: a batch that is split, and weights that are broadcast. Each process computes its piece as a local
tensor; torch's rules give the same layouts, at several times the cost of a small operator.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Shard

from ..processes import global_tensor

_SUM = (Partial(),)
_Rule = Callable[[Callable[..., Any], DTensor, Sequence[Any], dict[str, Any]], Any]


def call(function: Callable[..., Any], name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The result, or None where an operator or its layouts are not of this kind."""
    rule = _RULES.get(name)
    if rule is None or not arguments:
        return None
    first = next((value for value in arguments if isinstance(value, DTensor)), None)
    if first is None or any(isinstance(value, DTensor) for value in keywords.values()):
        return None
    if rule is _pairwise and len(arguments) > 1 and isinstance(arguments[1], DTensor) and not _is_split(first):
        first = arguments[1]
    return rule(function, first, arguments, keywords) if _is_split(first) else None


def _is_split(tensor: DTensor) -> bool:
    return len(tensor.placements) == 1 and isinstance(tensor.placements[0], Shard) and tensor.dim() > 0


def _dim(tensor: DTensor) -> int:
    return tensor.placements[0].dim % tensor.dim()  # type: ignore[attr-defined]


def _piece(tensor: DTensor) -> torch.Tensor:
    return global_tensor.piece_of(tensor, tensor.placements)


def _made(local: torch.Tensor, like: DTensor, layout: Sequence[Placement], shape: Sequence[int]) -> DTensor:
    return global_tensor.assembled(local, like.device_mesh, layout, tuple(shape))


def _weights(values: Sequence[Any], like: DTensor) -> list[Any] | None:
    """The broadcast tensors among arguments as local ones; None if one is in another layout or elsewhere."""
    weights = [value for value in values if isinstance(value, DTensor)]
    if any(weight.device_mesh != like.device_mesh or not weight.placements[0].is_replicate() for weight in weights):
        return None
    # The gradient of a broadcast weight is an open sum: each process has the part of its rows.
    pieces = iter(global_tensor.pieces_of(weights, _SUM))
    return [next(pieces) if isinstance(value, DTensor) else value for value in values]


def _each_number(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    if arguments[0] is not x or any(isinstance(value, DTensor) for value in arguments[1:]):
        return None
    if keywords.get("inplace"):  # a piece is a view of the tensor, which torch does not let change
        return None
    return _made(function(_piece(x), *arguments[1:], **keywords), x, x.placements, x.shape)


def _pairwise(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """An operator of two tensors or of a tensor and a number: both split alike, or one broadcast that has no batch."""
    if len(arguments) != 2:
        return None
    given = []
    for value in arguments:
        if value is x:
            given.append(_piece(x))
        elif not isinstance(value, DTensor):
            if isinstance(value, torch.Tensor):
                return None
            given.append(value)
        elif value.device_mesh != x.device_mesh or value.dim() > x.dim():
            return None
        elif _is_split(value):
            if value.shape != x.shape or _dim(value) != _dim(x):
                return None
            given.append(_piece(value))
        else:
            place = _dim(x) - (x.dim() - value.dim())
            whole = _weights([value], x) if place < 0 or value.shape[place] == 1 else None
            if whole is None:
                return None
            given += whole
    local = function(*given, **keywords)
    shape = list(local.shape)
    shape[_dim(x)] = x.shape[_dim(x)]
    return _made(local, x, x.placements, shape)


def _linear(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    weights = _weights(arguments[1:], x) if x is arguments[0] and len(arguments) > 1 else None
    if weights is None or _dim(x) == x.dim() - 1 or arguments[1].dim() != 2:
        return None
    return _made(function(_piece(x), *weights, **keywords), x, x.placements, (*x.shape[:-1], arguments[1].shape[0]))


def _embedding(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    weights = _weights(arguments[1:], x) if x is arguments[0] and len(arguments) > 1 else None
    if weights is None:
        return None
    return _made(function(_piece(x), *weights, **keywords), x, x.placements, (*x.shape, arguments[1].shape[1]))


def _along(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """An operator along a named dimension, which keeps the shape."""
    dim = arguments[1] if len(arguments) > 1 else keywords.get("dim")
    if type(dim) is not int or not -x.dim() <= dim < x.dim() or dim % x.dim() == _dim(x):
        return None
    return _each_number(function, x, arguments, keywords)


def _viewed(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A view of a split over the first dimension that keeps each row whole on its process."""
    sizes = arguments[1:]
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    processes, count = x.device_mesh.size(), x.numel()
    known = math.prod(size for size in sizes if size != -1)
    if keywords or _dim(x) or not count or not sizes or not known or list(sizes).count(-1) > 1:
        return None
    shape = [count // known if size == -1 else size for size in sizes]
    if math.prod(shape) != count or x.shape[0] % processes or shape[0] % processes:
        return None
    return _made(function(_piece(x), (shape[0] // processes, *shape[1:])), x, x.placements, shape)


def _reduced(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A sum or mean of all numbers, which stays an open sum."""
    if len(arguments) != 1 or keywords or not x.dtype.is_floating_point:
        return None
    total = torch.sum(_piece(x))
    # Each part is over the count of all: pieces of different sizes then add up to the mean.
    return _made(total / x.numel() if function.__name__ == "mean" else total, x, _SUM, ())


def _labelled(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The cross entropy of labels. Its mean is over the labels that count on all processes."""
    labels = arguments[1] if len(arguments) > 1 else None
    if x is not arguments[0] or not isinstance(labels, DTensor) or labels.device_mesh != x.device_mesh:
        return None
    if not _is_split(labels) or _dim(x) or _dim(labels) or labels.dtype.is_floating_point:
        return None
    if any(value is not None for value in arguments[2:]):
        return None
    pieces = _piece(x), _piece(labels)
    reduction = keywords.get("reduction", "mean")
    if reduction == "none":
        return _made(function(*pieces, **keywords), x, x.placements, labels.shape)
    total = function(*pieces, **{**keywords, "reduction": "sum"})
    if reduction == "mean":
        # Labels that do not count may be spread unevenly, so the count is one of all processes; it has no gradient.
        count = (pieces[1] != keywords.get("ignore_index", -100)).sum()
        total = total / global_tensor.total(count, x.device_mesh)
    return _made(total, x, _SUM, ())


def _compared(function: Callable[..., Any], x: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A loss of pairs of numbers."""
    target = arguments[1] if len(arguments) == 2 else None
    if x is not arguments[0] or not isinstance(target, DTensor) or target.device_mesh != x.device_mesh:
        return None
    reduction = keywords.get("reduction", "mean")
    if not _is_split(target) or target.shape != x.shape or _dim(x) != _dim(target) or reduction == "batchmean":
        return None
    if any(value is not None for name, value in keywords.items() if name in ("weight", "pos_weight")):
        return None
    losses = function(_piece(x), _piece(target), **{**keywords, "reduction": "none" if reduction == "none" else "sum"})
    if reduction == "none":
        return _made(losses, x, x.placements, x.shape)
    return _made(losses / x.numel() if reduction == "mean" else losses, x, _SUM, ())


def _rules(names: str, rule: _Rule) -> dict[str, _Rule]:
    return dict.fromkeys(names.split(), rule)


_RULES: dict[str, _Rule] = {
    **_rules(
        "relu tanh sigmoid gelu silu mish selu celu elu leaky_relu hardtanh hardswish relu6 softplus softsign exp log sqrt "
        "square abs neg __neg__ clamp dropout float double long half",
        _each_number,
    ),
    **_rules(
        "add __add__ __radd__ sub __sub__ mul __mul__ __rmul__ div __truediv__ maximum minimum eq ne lt le gt ge __eq__ __ne__ "
        "__lt__ __le__ __gt__ __ge__",
        _pairwise,
    ),
    **_rules("softmax log_softmax", _along),
    **_rules("view reshape", _viewed),
    **_rules("sum mean", _reduced),
    **_rules("mse_loss l1_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits", _compared),
    "linear": _linear,
    "embedding": _embedding,
    "cross_entropy": _labelled,
}
