"""A call as backends see it: its tensors, its options, and the facts by which a backend accepts or refuses it."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from . import torch_private
from .formula import Formula
from .modifiers import NONE, Modifiers, Noise
from .weights import Layout

BackendName: TypeAlias = Literal["cpu", "cudnn", "aten", "triton", "reference"]
"""The names of `backends.NAMES`."""
Between: TypeAlias = Callable[[int, Tensor], "Tensor | tuple[Tensor, Tensor]"]
"""A caller's own dropout: see `functional.gru`."""


class Options(NamedTuple):
    """The arguments of a call that are not tensors."""

    formula: Formula
    layer: Layout = Layout()
    """The layout of one layer. The number of layers follows from the number of weights."""
    dropout: float | Between = 0.0
    """Dropout between layers; 0 unless training."""
    backend: BackendName | None = None
    noise: Noise | None = None
    """Zoneout and recurrent dropout; None: neither."""
    states: bool = False
    """Return the states of every layer at every step as a third result."""
    batch_first: bool = False
    """The caller's form of a dense or padded batch is [B, T, I]."""
    autocast: torch.dtype | None = None
    """The call came under autocast to this dtype on the CPU; its tensors are cast already."""
    products: torch.dtype | None = None
    """See `Problem.products`; given under autocast."""
    batch_first_states: bool = False
    """The caller's form of h_0 and h_n is [B, L*D, H]."""


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
    """True if there is nothing to compute: no sequence, no step or no feature."""
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
    products: torch.dtype | None = None
    """torch's own kernel on the CPU, with products in this dtype, takes less time than ours; see `backends/products.py`."""
    precision: str = "highest"
    """Of our kernels' products on the CPU: "highest", "high", "float16" or "bfloat16"; see `backends/products.py`."""


class Call(NamedTuple):
    """The tensors of a checked call, in the inner form that a backend takes."""

    input: Tensor
    """[T, B, I], or packed rows [N, I] if batch_sizes is given."""
    h_0: Tensor
    """[L*D, B, H]; for packed rows in order of decreasing length."""
    weights: Sequence[Tensor]
    """Flat, as `functional.gru` takes them; empty for a frozen layer."""
    batch_sizes: Tensor | None = None
    """int64 [T] on the CPU: how many sequences have a step t. Never increases."""
    modifiers: Modifiers = NONE

    @classmethod
    def of(cls, problem: Problem, tensors: Sequence[Tensor], batch_sizes: Tensor | None) -> "Call":
        """The inverse of `tensors`."""
        end = 2 + problem.layout.num_layers * problem.layout.per_layer()
        modifiers = Modifiers.of(problem.modified, tensors[end:]) if problem.modified else NONE
        return cls(tensors[0], tensors[1], tensors[2:end], batch_sizes, modifiers)

    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that may require a gradient, in the order in which gradients are returned."""
        own = (self.input, self.h_0, *self.weights)
        return own if self.modifiers is NONE else own + self.modifiers.present()

    def to(self, dtype: torch.dtype) -> "Call":
        """The call in another dtype."""
        input = self.input.to(dtype)
        weights = [weight.to(dtype) for weight in self.weights]
        return Call(input, self.h_0.to(dtype), weights, self.batch_sizes, self.modifiers.like(input))


@cache
def plain_problem(
    formula: Formula, layer: Layout, weights: int, dtype: torch.dtype, precision: str = "highest"
) -> Problem:
    """The problem of a dense call with gradients, on `weights` tensors in layers of this layout."""
    layout = layer._replace(num_layers=weights // layer.per_layer())
    problem = Problem("cpu", dtype, layout, formula, ragged=False, empty=False, needs_grad=True, transformed=False)
    return problem._replace(precision=precision)


def are_batched(grads: Sequence[Tensor | None]) -> bool:
    """Whether torch asks for many gradients at once, by torch.func.vmap or by autograd's own vectorization."""
    if torch_private.transform() is not None:
        return True
    return any(grad is not None and torch_private.is_legacy_batched(grad) for grad in grads)
