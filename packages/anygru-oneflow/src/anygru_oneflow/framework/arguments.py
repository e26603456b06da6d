"""OneFlow's names of arguments, where torch or the dialect's functions have other names.

A row has the first argument names of OneFlow 0.9.0 (its `functional_api.yaml`), up to the last that differs, and the functions
with these names. Positional arguments keep their places. Arguments behind a bar are keyword-only in torch, and may be
positional in OneFlow. A star marks sizes, which may be one sequence or single numbers.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from types import FunctionType
from typing import Any

import torch

from anygru.extend import names

from .dressing import DRESSED, NotATensor

_NAMES = """
x: all any argmax argmin broadcast_like cast celu elu erfinv_ flatten flip fold hardshrink hardswish hardtanh leaky_relu
x | approximate: gelu
x: log_softmax logsumexp max_pool1d max_pool2d max_pool3d mean mish neg negative pad
x: prod quantile relu selu sigmoid sign silu softmax softshrink softsign square squeeze std sum tanh threshold unfold var
x split_size_or_sections: split
self: zero_
x output_size: adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
x alpha: prelu softshrink
input other | dim: cross
x y: logaddexp
inputs: add cat concat stack
input: atleast_1d atleast_2d atleast_3d contiguous dropout
tensors: atleast_1d atleast_2d atleast_3d
input min: clamp_max_
input other: div_ dot
input mat2: mm
input shape: broadcast_to
input repeat_shape: repeat
input indices_or_sections: hsplit tensor_split vsplit
input dim0 dim1: swapaxes transpose
input perm: transpose
input dim index source alpha: index_add index_add_
input fill_value | dtype device placement sbp requires_grad: full_like
size fill_value | dtype device placement sbp requires_grad: full
input | dtype device placement sbp requires_grad: empty_like ones_like zeros_like
x *size | dtype device placement sbp requires_grad: new_empty new_ones new_zeros
x size fill_value | dtype device placement sbp requires_grad: new_full
input dim index | sparse_grad: gather
input dim | dtype: cumprod cumsum
a b: bmm
params indices: gather_nd
logits label: smooth_l1_loss
sorted_sequence values | out_int32 right: searchsorted
start end step | dtype device placement sbp requires_grad: arange
start end steps | dtype device placement sbp requires_grad: linspace
start end steps base | dtype device placement sbp requires_grad: logspace
input n_fft hop_length win_length window | center pad_mode normalized onesided return_complex: stft
obj: is_tensor
"""

# Functions that overwrite their tensor if `inplace` is true, which torch's functions cannot.
_IN_PLACE = "add floor_divide fmod hardshrink mul pow softshrink sub"
# Methods with tensors among their arguments that torch does not check.
_OF_TENSORS = "allclose bincount index_add index_add_ masked_fill masked_fill_"


def _rows() -> Iterator[tuple[str, list[str], list[str]]]:
    """A function's name, its positional arguments, and the arguments that are keyword-only in torch."""
    for row in _NAMES.strip().splitlines():
        arguments, _, taking = row.partition(": ")
        given, _, named = arguments.partition(" | ")
        for name in taking.split():
            yield name, given.split(), named.split()


def with_oneflows_names(functions: dict[str, Any]) -> dict[str, Any]:
    """The functions of the tables, which then take OneFlow's names of arguments as well."""
    found: dict[str, Any] = {name: _in_place_too(functions[name]) for name in _IN_PLACE.split() if name in functions}
    places: dict[str, list[str]] = {}
    for name, given, named in _rows():
        if name in functions:
            found[name] = _by_place(found.get(name, functions[name]), given, named)
            places[name] = [argument.removeprefix("*") for argument in given]
    return {
        name: of_tensors(function, places.get(name, ()))
        for name, function in (functions | found).items()
        if isinstance(function, FunctionType) and not name.startswith("_")
    }


def teach_methods(kind: type) -> None:
    """Let the methods of tensors take OneFlow's names of arguments."""
    covered = names("oneflow").covered["oneflow.Tensor"]
    for name, given, named in _rows():
        if name in covered and len(given + named) > 1:
            setattr(kind, name, _by_place(getattr(kind, name), given, named))
    for name in _OF_TENSORS.split():
        setattr(kind, name, of_tensors(getattr(kind, name)))


def of_tensors(function: Callable[..., Any], given: Sequence[str] = ()) -> Callable[..., Any]:
    """The function, with a TypeError as OneFlow's, which names the argument, if it treats another object as a tensor.

    It checks no argument before the call: an AttributeError has the object that lacks the attribute.

    Args:
        given: OneFlow's names of the first arguments. The names of other arguments come from the function.
    """

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except (AttributeError, NotATensor) as error:
            name = _argument(function, given, arguments, keywords, error)
            if name is None:
                raise
            wrong, of = type(error.obj), function.__qualname__.removesuffix(".forward").rpartition(".")[2]
            raise TypeError(
                f"{of}(): argument {name!r} must be tensor, not {wrong}; oneflow.tensor makes one"
            ) from error

    return call


def _argument(
    function: Callable[..., Any], given: Sequence[str], arguments: tuple[Any, ...], keywords: dict[str, Any], error: Any
) -> str | None:
    """The name of the argument that an error is about; None if it is about another object."""
    is_ours = isinstance(error, NotATensor) or any(
        hasattr(kind, error.name) for kind in (torch.Tensor, *DRESSED.values())
    )
    if isinstance(error.obj, torch.Tensor) or not is_ours:
        return None
    try:
        known = [*given, *list(inspect.signature(function).parameters)[len(given) :]]
    except ValueError:  # torch's own has no signature
        known = [*given, "input", "other"][: max(len(given), 2)]
    passed = [*zip(known, arguments, strict=False), *keywords.items()]
    return next((name for name, value in passed if value is error.obj), None)


def _by_place(function: Callable[..., Any], given: list[str], named: list[str]) -> Callable[..., Any]:
    count = len(given)
    takes_numbers = given[-1].startswith("*")
    given = [name.removeprefix("*") for name in given]

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        are_sizes = takes_numbers and len(arguments) >= count and isinstance(arguments[count - 1], int)
        if named and not are_sizes and count < len(arguments) <= count + len(named):
            keywords.update(zip(named, arguments[count:], strict=False))
            arguments = arguments[:count]
        if keywords:
            for name in given[len(arguments) :]:
                if name not in keywords:
                    break
                arguments = (*arguments, keywords.pop(name))
        return function(*arguments, **keywords)

    return call


def _in_place_too(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a tensor that overwrites it if `inplace` is true."""

    @wraps(function)
    def call(input: Any, *arguments: Any, inplace: bool = False, **keywords: Any) -> Any:
        if not inplace:
            return function(input, *arguments, **keywords)
        # Work on a copy, as autograd may need the values that are overwritten.
        return torch.Tensor.copy_(input, function(input.clone(), *arguments, **keywords))

    return call
