"""How operators take global tensors, where OneFlow brings them into another layout than torch.

An operator that needs a dimension whole, such as a softmax along it, cannot take a split over it; one that is not linear
cannot take an open sum. torch then gives every process a copy of all. OneFlow splits another dimension, which moves less.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

from anygru.extend import global_tensor

# Where the arguments of functions name the dimensions that they need whole, and which they are if none is named.
_WHOLE: dict[str, tuple[int, Any]] = {
    "softmax": (1, None), "log_softmax": (1, None), "argmax": (1, None), "argmin": (1, None), "max": (1, None),
    "min": (1, None), "amax": (1, None), "amin": (1, None), "sort": (1, -1), "topk": (2, -1), "unbind": (1, 0),
    "logsumexp": (1, None), "std": (1, None), "prod": (1, None), "cumsum": (1, None),
    "cumprod": (1, None), "flip": (1, None), "normalize": (2, 1), "linalg_norm": (2, None),
    "linalg_vector_norm": (2, None),
}  # fmt: skip
# The same for functions that take an open sum as it is.
_WHOLE_LINEAR: dict[str, tuple[int, Any]] = {"cat": (1, 0), "chunk": (2, 0), "split": (2, 0), "roll": (2, None)}
_NAMED = _WHOLE | _WHOLE_LINEAR
_VIEWS = {"view", "reshape", "flatten"}
# Functions of each number that are not linear, and so need an open sum closed.
_POINTWISE = {
    "relu", "gelu", "silu", "selu", "celu", "elu", "mish", "tanh", "sigmoid", "softplus", "softsign", "leaky_relu",
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "square", "sign", "floor", "ceil", "round",
    "trunc", "clamp", "clip", "clamp_min", "clamp_max", "pow", "__pow__", "__rpow__", "abs", "__abs__", "neg",
    "negative", "__neg__", "reciprocal", "sin", "cos", "tan", "erf", "erfc", "maximum", "minimum", "masked_fill",
    "__rtruediv__", "__rdiv__", "rsub", "__rsub__", "eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__",
    "__le__", "__gt__", "__ge__", "squeeze", "pad",
}  # fmt: skip
# Functions that each process computes for its part of the batch alone. OneFlow 0.9.0 normalizes a batch so: each process
# by its own part's statistics (recorded). For the gradients of the others torch has no rule over processes.
_BY_PART = {
    "batch_norm", "group_norm", "instance_norm", "prelu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "log_sigmoid",
    "hardshrink", "softshrink",
}  # fmt: skip
# The same for functions with dimensions that each process needs whole: the last ones of an average pooling, the named one
# of a tensor's `unfold`, and all but the batch of an image's.
_WINDOWS = {"avg_pool1d": 1, "avg_pool2d": 2, "avg_pool3d": 3}
# Linear of two open sums, but not of an open sum and a number.
_WITH_NUMBER = {"add", "__add__", "__radd__", "sub", "__sub__"}


def call(function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The result of the function for arguments in OneFlow's layouts. Call it where torch's functions are torch's own."""
    name = getattr(function, "__name__", "")
    first = arguments[0] if arguments else None
    if name in ("mean", "clone") and isinstance(first, DTensor) and any(kind.is_partial() for kind in first.placements):
        return _scaled(name, first, arguments[1:], keywords)
    if name in ("chunk", "split", "unbind") and isinstance(first, DTensor):
        return _pieces(function, name, arguments, keywords)
    if isinstance(first, DTensor) and (name in _BY_PART or name in _WINDOWS or name == "unfold"):
        return _by_part(function, arguments, keywords, _windowed(function, name, first, arguments, keywords))
    result = function(*_arranged(function, name, arguments, keywords), **keywords)
    if name == "any" and isinstance(result, DTensor):  # torch leaves it open, as a sum of truth values
        return result.redistribute(
            placements=[Replicate() if kind.is_partial() else kind for kind in result.placements]
        )
    return result


def _windowed(
    function: Callable[..., Any], name: str, tensor: DTensor, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Iterable[int]:
    """The dimensions that a function of parts needs whole."""
    if name in _WINDOWS:
        return range(tensor.dim() - _WINDOWS[name], tensor.dim())
    if name != "unfold":
        return ()
    if function is torch.nn.functional.unfold:
        return range(1, tensor.dim())
    return (arguments[1] if len(arguments) > 1 else keywords["dimension"],)


def _by_part(
    function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any], needed: Iterable[int]
) -> Any:
    """The function of each process's part of the first argument, and of the others whole.

    Args:
        needed: the dimensions of the first argument that no process may have in part.
    """
    tensor = _moved(arguments[0], needed, closes=True)
    others = [value for value in (*arguments[1:], *keywords.values()) if isinstance(value, DTensor)]

    def compute(part: torch.Tensor, states: object, whole: list[torch.Tensor]) -> list[torch.Tensor]:
        given = iter(whole)
        rest = [next(given) if isinstance(value, DTensor) else value for value in arguments[1:]]
        named = {name: next(given) if isinstance(value, DTensor) else value for name, value in keywords.items()}
        if "inplace" in named:  # torch refuses to change a part; programs take the result
            named["inplace"] = False
        return [function(part, *rest, **named)]

    split = [kind.dim for kind in tensor.placements if isinstance(kind, Shard)]
    (result,) = global_tensor.over_batch(compute, tensor, [], others, split[0] if split and not others else 0)
    return result.clone()  # which, unlike a tensor made of parts, may be changed in place


def _scaled(name: str, tensor: DTensor, rest: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A mean or a copy of an open sum, which remains one."""
    if name == "clone":
        return tensor * 1
    total = torch.sum(tensor, *rest, **keywords)
    return total / (tensor.numel() / max(total.numel(), 1))


def _pieces(
    function: Callable[..., Any], name: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """The pieces of a tensor, each by itself: torch's backward of all of them fails where some are not used."""
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
    if name in _POINTWISE or (name in _WITH_NUMBER and not _are_tensors(arguments)):
        return [_moved(value, (), closes=True) for value in arguments]
    if name in _NAMED:
        return [_along(name, arguments, keywords), *arguments[1:]]
    tensor = arguments[0] if arguments else None
    if not isinstance(tensor, DTensor):
        return arguments
    if name == "layer_norm":
        shape = arguments[1] if len(arguments) > 1 else keywords["normalized_shape"]
        return [_moved(tensor, range(tensor.dim() - len(shape), tensor.dim()), closes=True), *arguments[1:]]
    if name in _VIEWS:
        like = function(torch.empty(tensor.shape, device="meta"), *arguments[1:], **keywords)
        return [_viewed(tensor, like.shape), *arguments[1:]]
    if name == "__getitem__":
        return [_opened(tensor, _cut(tensor, arguments[1])), *arguments[1:]]
    return arguments


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
        return arguments[0]
    # A softmax is computed along the last dimension, with which its own changes places.
    last_first = name in ("softmax", "log_softmax")
    tensors = arguments[0]
    if isinstance(tensors, (list, tuple)):
        return [_moved(tensor, dims) for tensor in tensors]
    return _moved(tensors, dims, closes=name in _WHOLE, exchanged=last_first)


def _moved(value: Any, whole: Iterable[int], closes: bool = False, exchanged: bool = False) -> Any:
    """A global tensor with no split over these dimensions, and without open sums if it `closes`; other values unchanged.

    A split or open sum that has to go becomes a split over the first other dimension that has something for each process.

    Args:
        exchanged: whether the dimension that is needed whole and the last one count in exchanged order.
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
    return value if layout == list(value.placements) else _laid(value, layout)


def _viewed(tensor: DTensor, shape: Sequence[int]) -> DTensor:
    """The tensor with splits that its view has too: over dimensions that begin one there, in pieces of one size."""
    size = {math.prod(shape[:dim]): length for dim, length in reversed(list(enumerate(shape)))}
    layout: list[Placement] = list(tensor.placements)
    for axis, kind in enumerate(layout):
        if isinstance(kind, Shard):
            processes = tensor.device_mesh.size(axis)
            kept = [
                dim
                for dim, length in enumerate(tensor.shape)
                if length % processes == 0 and size.get(math.prod(tensor.shape[:dim]), 1) % processes == 0
                and math.prod(tensor.shape[:dim]) in size
            ]  # fmt: skip
            if kind.dim not in kept:
                layout[axis] = Shard(kept[0]) if kept else Replicate()
    return tensor if layout == list(tensor.placements) else _laid(tensor, layout)


def _cut(tensor: DTensor, index: Any) -> set[int]:
    """The dimensions that an index of numbers and slices restricts; none if there are tensors in it.

    Of truth values there are no sums.
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
    """The tensor with open sums in place of splits over these dimensions: a process without a part adds zeros."""
    layout = [Partial() if isinstance(kind, Shard) and kind.dim in cut else kind for kind in tensor.placements]
    return tensor if layout == list(tensor.placements) else _laid(tensor, layout)


def _laid(tensor: DTensor, layout: Sequence[Placement]) -> DTensor:
    return global_tensor.relayout(tensor, tensor.device_mesh, layout)
