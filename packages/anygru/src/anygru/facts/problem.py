"""The options of a call, and the facts by which a backend accepts or refuses it."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from .formula import Formula
from .modifiers import Noise
from .weights import Layout

Between: TypeAlias = Callable[[int, Tensor], "Tensor | tuple[Tensor, Tensor]"]
"""A caller's own dropout: see `functional.gru`."""


class Options(NamedTuple):
    """The arguments that travel together; dropout is 0 unless training."""

    formula: Formula
    bidirectional: bool
    bias: bool
    dropout: float | Between
    backend: str | None
    reverse: bool = False
    norm: bool = False
    noise: Noise | None = None
    """Zoneout and recurrent dropout; None: neither."""
    states: bool = False
    """The states of every layer at every step are a result, too."""


class Problem(NamedTuple):
    """The facts by which a backend accepts or refuses a call. Hashable, so that choices can be cached.

    Dropout between layers is not among them: `execution` runs such a call layer by layer, so that no backend draws random
    numbers.
    """

    device_type: str
    dtype: torch.dtype
    layout: Layout
    formula: Formula
    ragged: bool
    """The input is packed rows [N, I] with batch sizes, not [T, B, I]."""
    empty: bool
    """There is nothing to compute, since no sequence, no step or no feature came."""
    needs_grad: bool
    """The result needs a gradient."""
    transformed: bool
    """The call runs under torch.func, forward-mode AD or a dispatch mode, or a tensor's subclass intercepts operators."""
    recorded: bool = False
    """torch.jit.trace or the legacy ONNX exporter records the operations of torch that the call makes."""
    modified: tuple[str, ...] = ()
    """The names of the modifiers (`modifiers.py`) that the call has."""
    rounds_rows: bool = False
    """Rows of inputs and states are rounded to 16 bits, as in the kernels for int8 weights."""


@cache
def plain_problem(formula: Formula, facts: tuple[bool, ...], weights: int, dtype: torch.dtype) -> Problem:
    """The problem of a dense call with gradients; `facts`: the fields of `Layout` after num_layers; `weights`: how many."""
    one = Layout(1, *facts)
    layout = one._replace(num_layers=weights // one.per_layer)
    return Problem("cpu", dtype, layout, formula, ragged=False, empty=False, needs_grad=True, transformed=False)


def are_batched(grads: Sequence[Tensor | None]) -> bool:
    """Whether torch asks for many gradients at once, by torch.func.vmap or by autograd's own vectorization."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    return any(grad is not None and torch._C._functorch.is_legacy_batchedtensor(grad) for grad in grads)
