"""How operators take global tensors, where OneFlow brings them into another layout than torch.

An operator that needs a dimension whole, such as a softmax along it, cannot take a split over it; a nonlinear operator cannot
take an open sum. torch then copies the whole tensor to every process. OneFlow splits another dimension, which moves less.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

from ..processes import global_tensor
from . import split
from .parts import LOSSES_OF_PAIRS, compute, is_weighted_mean, loss_of_labels, loss_of_pairs, moved, takes

# Place of the argument with the dimensions that a function needs whole, and their default.
_WHOLE: dict[str, tuple[int, Any]] = {
    "softmax": (1, None), "log_softmax": (1, None), "argmax": (1, None), "argmin": (1, None), "max": (1, None),
    "min": (1, None), "amax": (1, None), "amin": (1, None), "sort": (1, -1), "topk": (2, -1), "unbind": (1, 0),
    "logsumexp": (1, None), "cumsum": (1, None),
    "flip": (1, None), "normalize": (2, 1), "linalg_norm": (2, None),
    "linalg_vector_norm": (2, None),
}  # fmt: skip
# The same for functions that accept an open sum.
_WHOLE_LINEAR: dict[str, tuple[int, Any]] = {
    "cat": (1, 0), "chunk": (2, 0), "split": (2, 0), "roll": (2, None), "pixel_shuffle": (2, -3),
}  # fmt: skip
_NAMED = _WHOLE | _WHOLE_LINEAR
_VIEWS = {"view", "reshape", "flatten"}
# Functions of each number that are not linear, and so need an open sum closed.
_POINTWISE = {
    "relu", "gelu", "silu", "selu", "celu", "elu", "mish", "tanh", "sigmoid", "softplus", "leaky_relu",
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "square", "sign", "floor", "ceil", "round",
    "trunc", "clamp", "clip", "clamp_min", "clamp_max", "pow", "__pow__", "__rpow__", "neg",
    "negative", "__neg__", "reciprocal", "sin", "cos", "tan", "erf", "erfc", "maximum", "minimum", "masked_fill",
    "__rtruediv__", "__rdiv__", "rsub", "__rsub__", "eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__",
    "__le__", "__gt__", "__ge__", "squeeze", "norm", "linalg_matrix_norm",
}  # fmt: skip
# Queries, for which the layout does not matter.
_ASKING = {"__get__", "dim", "size", "is_floating_point", "numel", "stride", "detach"}
# Linear in one operand: an open sum is closed if the other operand is split.
_PRODUCTS = {"mul", "__mul__", "__rmul__", "multiply", "div", "__truediv__", "true_divide"}
# Linear of two open sums, but not of an open sum and a number.
_WITH_NUMBER = {"add", "__add__", "__radd__", "sub", "__sub__"}


def call(function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The result of the function for arguments in OneFlow's layouts. Call it where torch's functions are torch's own."""
    name = "im2col" if function is torch.nn.functional.unfold else getattr(function, "__name__", "")
    if name in _ASKING:
        return function(*arguments, **keywords)
    result = split.call(function, name, arguments, keywords)
    if result is not None:
        return result
    first = arguments[0] if arguments else None
    if name in ("mean", "clone") and isinstance(first, DTensor) and any(kind.is_partial() for kind in first.placements):
        return _scaled(name, first, arguments[1:], keywords)
    if name in ("chunk", "split", "unbind") and isinstance(first, DTensor):
        return _pieces(function, name, arguments, keywords)
    if name in LOSSES_OF_PAIRS:
        return loss_of_pairs(function, arguments, keywords)
    if is_weighted_mean(name, arguments, keywords):
        return loss_of_labels(function, arguments, keywords)
    if name in _VIEWS and isinstance(first, DTensor) and _is_split_twice(first):
        return _view_of_pieces(function, first, arguments, keywords)
    if takes(name, arguments, keywords):
        return compute(function, name, arguments, keywords)
    if name == "fill_" and isinstance(first, DTensor) and any(kind.is_partial() for kind in first.placements):
        raise RuntimeError("fill_ of a global tensor of partial_sum: bring it to another sbp first")
    result = function(*_arranged(function, name, arguments, keywords), **keywords)
    if name == "any" and isinstance(result, DTensor):  # torch leaves it open, as a sum of truth values
        return result.redistribute(
            placements=[Replicate() if kind.is_partial() else kind for kind in result.placements]
        )
    return result


def _scaled(name: str, tensor: DTensor, rest: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A mean or a copy of an open sum, which remains one."""
    if name == "clone":
        return tensor * 1
    total = torch.sum(tensor, *rest, **keywords)
    return total / (tensor.numel() / max(total.numel(), 1))


def _pieces(
    function: Callable[..., Any], name: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """The pieces of a tensor, one operator each: torch's backward of all pieces fails if some are not used."""
    tensor = _along(name, arguments, keywords)
    sizes = [piece.shape for piece in function(torch.empty(tensor.shape, device="meta"), *arguments[1:], **keywords)]
    dim = _named(name, arguments, keywords)
    if name == "unbind":
        return tuple(torch.select(tensor, dim, number) for number in range(len(sizes)))
    begins = [sum(size[dim] for size in sizes[:number]) for number in range(len(sizes))]
    return tuple(torch.narrow(tensor, dim, begin, size[dim]) for begin, size in zip(begins, sizes, strict=True))


def _arranged(
    function: Callable[..., Any], name: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Sequence[Any]:
    closes = name in _PRODUCTS and any(isinstance(value, DTensor) and _is_split(value) for value in arguments)
    if closes or name in _POINTWISE or (name in _WITH_NUMBER and not _are_tensors(arguments)):
        return [moved(value, (), closes=True) for value in arguments]
    if name in _NAMED:
        return [_along(name, arguments, keywords), *arguments[1:]]
    tensor = arguments[0] if arguments else None
    if not isinstance(tensor, DTensor):
        return arguments
    if name in _VIEWS:
        like = function(torch.empty(tensor.shape, device="meta"), *arguments[1:], **keywords)
        return [_viewed(tensor, like.shape), *arguments[1:]]
    if name == "__getitem__":
        return [_opened(tensor, _cut(tensor, arguments[1])), *arguments[1:]]
    return arguments


def _is_split(tensor: DTensor) -> bool:
    return any(isinstance(kind, Shard) for kind in tensor.placements)


def _are_tensors(arguments: Sequence[Any]) -> bool:
    return len(arguments) > 1 and all(isinstance(value, torch.Tensor) for value in arguments[:2])


def _named(name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The dimension or dimensions that a call names, or None."""
    place, usual = _NAMED[name]
    return arguments[place] if len(arguments) > place else keywords.get("dim", keywords.get("dims", usual))


def _along(name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The first argument, a tensor or several, in a layout that has the named dimensions whole."""
    named = _named(name, arguments, keywords)
    dims = [named] if isinstance(named, int) else named
    if not isinstance(dims, (list, tuple)):
        return moved(arguments[0], (), closes=name in _WHOLE)
    # A softmax is computed along the last dimension, with which its own changes places.
    last_first = name in ("softmax", "log_softmax")
    tensors = arguments[0]
    if isinstance(tensors, (list, tuple)):
        return [moved(tensor, dims) for tensor in tensors]
    return moved(tensors, dims, closes=name in _WHOLE, exchanged=last_first)


def _is_split_twice(tensor: DTensor) -> bool:
    """Whether two axes of the mesh split one dimension."""
    dims = [kind.dim for kind in tensor.placements if isinstance(kind, Shard)]
    return len(dims) > len(set(dims))


def _view_of_pieces(
    function: Callable[..., Any], tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]
) -> DTensor:
    """A view of each process's piece. Torch looks at each axis of the mesh alone, and so splits a dimension too often."""
    shape = list(function(torch.empty(tensor.shape, device="meta"), *arguments[1:], **keywords).shape)
    tensor = _viewed(tensor, shape)
    begins = [math.prod(shape[:dim]) for dim in range(len(shape))]
    layout: list[Placement] = list(tensor.placements)
    of_piece = list(shape)
    for axis, kind in enumerate(layout):
        if isinstance(kind, Shard):
            dim = begins.index(math.prod(tensor.shape[: kind.dim]))
            layout[axis] = Shard(dim)
            of_piece[dim] //= tensor.device_mesh.size(axis)
    piece = global_tensor.piece_of(tensor, [Replicate() if kind.is_partial() else kind for kind in tensor.placements])
    if tensor.device_mesh.get_coordinate() is not None:  # a process outside of the mesh holds nothing
        piece = piece.reshape(of_piece)
    return global_tensor.assembled(piece, tensor.device_mesh, layout, tuple(shape))


def _viewed(tensor: DTensor, shape: Sequence[int]) -> DTensor:
    """The tensor with only the splits that its view can keep: over dimensions that start a dimension of the view, in pieces of
    one size.
    """
    size = {math.prod(shape[:dim]): length for dim, length in reversed(list(enumerate(shape)))}
    layout: list[Placement] = list(tensor.placements)
    pieces = dict.fromkeys(range(tensor.dim()), 1)  # in which the axes of the mesh before this one split each dimension
    for axis, kind in enumerate(layout):
        if isinstance(kind, Shard):
            processes = tensor.device_mesh.size(axis)
            kept = [
                dim
                for dim, length in enumerate(tensor.shape)
                if (begin := math.prod(tensor.shape[:dim])) in size
                and length % (pieces[dim] * processes) == 0 and size[begin] % (pieces[dim] * processes) == 0
            ]  # fmt: skip
            if kind.dim not in kept:
                layout[axis] = Shard(kept[0]) if kept else Replicate()
            if kept:
                pieces[kind.dim if kind.dim in kept else kept[0]] *= processes
    return tensor if layout == list(tensor.placements) else global_tensor.redistribute(tensor, layout)


def _cut(tensor: DTensor, index: Any) -> set[int]:
    """The dimensions that an index of numbers and slices restricts; none if there are tensors in it.

    Bools have no open sums.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if tensor.dtype == torch.bool or not all(
        part is None or part is ... or type(part) in (int, slice) for part in parts
    ):
        return set()
    counted = sum(part is not None and part is not ... for part in parts)
    dim, cut = 0, set()
    for part in parts:
        if part is ...:
            dim += tensor.dim() - counted
        elif part is not None:
            if part != slice(None):
                cut.add(dim)
            dim += 1
    return cut


def _opened(tensor: DTensor, cut: set[int]) -> DTensor:
    """The tensor with splits over these dimensions turned into open sums: a process that holds no part adds zeros."""
    layout = [Partial() if isinstance(kind, Shard) and kind.dim in cut else kind for kind in tensor.placements]
    return tensor if layout == list(tensor.placements) else global_tensor.redistribute(tensor, layout)
