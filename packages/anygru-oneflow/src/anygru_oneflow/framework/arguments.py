"""What OneFlow calls the arguments of functions, where torch or the dialect's own functions have other names for them.

A row says the first names of OneFlow 0.9.0 (its `functional_api.yaml`), up to the last one that differs, and the functions that
have them. Programs may use them; by its place an argument reaches the function under whatever name that has. Behind a bar stand
arguments that programs may give without their names, and torch's functions take by their names alone.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

_NAMES = """
x: all any argmax argmin broadcast_like cast celu elu erfinv_ flatten flip fold hardshrink hardswish hardtanh leaky_relu
x | approximate: gelu
x: log_softmax logsumexp max_pool1d max_pool2d max_pool3d mean mish neg negative pad
x: prod quantile relu selu sigmoid sign silu softmax softshrink softsign split square squeeze std sum tanh threshold unfold var
x output_size: adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
x alpha: prelu softshrink
input other | dim: cross
x y: cosine_similarity logaddexp
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
x size | dtype device placement sbp requires_grad: new_empty new_ones new_zeros
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

# What overwrites its tensor where `inplace` says so, which torch's functions cannot.
_IN_PLACE = "add floor_divide fmod hardshrink mul pow softshrink sub"


def with_oneflows_names(functions: dict[str, Any]) -> dict[str, Any]:
    """Those of the functions that the tables name, taking OneFlow's arguments, too."""
    found: dict[str, Any] = {name: _in_place_too(functions[name]) for name in _IN_PLACE.split() if name in functions}
    for row in _NAMES.strip().splitlines():
        arguments, _, names = row.partition(": ")
        for name in names.split():
            if name in functions:
                given, _, named = arguments.partition(" | ")
                found[name] = _by_place(found.get(name, functions[name]), given.split(), named.split())
    return found


def _by_place(function: Callable[..., Any], names: list[str], named: list[str]) -> Callable[..., Any]:
    count = len(names)

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if named and count < len(arguments) <= count + len(named):
            keywords.update(zip(named, arguments[count:], strict=False))
            arguments = arguments[:count]
        if keywords:
            for name in names[len(arguments) :]:
                if name not in keywords:
                    break
                arguments = (*arguments, keywords.pop(name))
        return function(*arguments, **keywords)

    return call


def _in_place_too(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a tensor that overwrites it where `inplace` says so."""

    @wraps(function)
    def call(input: Any, *arguments: Any, inplace: bool = False, **keywords: Any) -> Any:
        if not inplace:
            return function(input, *arguments, **keywords)
        # Of a copy, as autograd may need the values that are overwritten.
        return torch.Tensor.copy_(input, function(input.clone(), *arguments, **keywords))

    return call
