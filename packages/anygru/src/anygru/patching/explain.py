"""`explain`: which backend computes a call, and why each other one does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from .. import backends
from ..backends import products
from ..errors import ArgumentError, ArgumentTypeError
from ..facts.problem import Problem
from ..facts.sequences import Batch, Lengths, enter
from ..layers.from_torch import from_torch
from ..layers.frozen import Frozen
from ..layers.gru import GRU, FrozenGRUCell, GRUCell
from ..operator.casting import AnyWeights, autocast_dtype, autocast_enabled
from ..operator.execution import describe
from ..operator.frozen_weights import FrozenWeights


@dataclass(frozen=True)
class Explanation:
    """The result of `explain`; prints as a small table."""

    backend: str
    """The backend that computes the call."""
    reasons: Mapping[str, str | None]
    """Each backend's reason for not taking the call, or None if it can."""
    problem: Problem
    named: str | None = None
    """The backend that the layer asks for by name."""
    weights: str | None = None
    """How the backend gets the weights of a frozen layer."""
    copies: Sequence[str] = ()
    """The tensors that each call copies before the backend reads them, and why; contiguous tensors need no copy."""

    products: str = ""
    """How exact the kernels' products are, where that is not only float32."""

    @property
    def _why_not_taken(self) -> str:
        if self.named is not None:
            return f"the layer names backend={self.named!r}"
        if self.problem.products is not None:
            dtype = str(self.problem.products).removeprefix("torch.")
            return f"torch's own kernel multiplies matrices of these sizes faster in {dtype} on this CPU"
        return "comes later in order of speed"

    def __str__(self) -> str:
        width = max(map(len, self.reasons))
        lines = []
        for name, reason in self.reasons.items():
            if name == self.backend:
                words = "computes this call" + (f" with {self.weights}" if self.weights else "")
                words += f", {self.products}" if self.products else ""
                words += "".join(f", copies {one}" for one in self.copies)
            else:
                words = f"no: {reason}" if reason else f"could, but {self._why_not_taken}"
            lines.append(f"{name:{width}}  {words}")
        return "\n".join(lines)


def explain(
    layer: nn.Module,
    input: Batch,
    lengths: Lengths | None = None,
    *,
    resets: bool = False,
    decay: bool = False,
    reset_states: bool = False,
) -> Explanation:
    """Which backend runs `layer(input)`, and why each other one does not.

    Args:
        layer: a `GRU` or `GRUCell` of anygru, frozen or not, or of torch (as `accelerate` would run it).
        input: an input of the layer; nothing is computed.
        lengths: as for `GRU.forward`.
        resets, decay, reset_states: whether the call has these.

    Raises:
        Exception: the error that the call itself would raise, such as BackendError if the layer names a backend that
        cannot take it.

    Example:
        >>> print(anygru.explain(anygru.GRU(3, 4, activation="relu"), torch.randn(5, 2, 3)))  # doctest: +SKIP
    """
    if not isinstance(layer, (GRU, GRUCell, nn.GRU, nn.GRUCell, Frozen)):
        raise ArgumentTypeError(f"layer must be a GRU or GRUCell of anygru or torch, got {type(layer).__name__}")
    modified = ("decay",) * (resets or decay or reset_states) + ("offset",) * reset_states
    ours = layer if isinstance(layer, Frozen) else from_torch(layer)
    weights: AnyWeights = ours.frozen_weights if isinstance(ours, Frozen) else ours.flat_weights
    if not isinstance(weights, FrozenWeights) and is_lazy(weights[0]):
        raise ArgumentError("layer has seen no input yet, so its input_size is not known")
    rows, batch_sizes = _rows(layer, input, lengths)
    problem = describe(rows, weights, batch_sizes, ours.options._replace(dropout=0.0), modified)
    chosen = backends.choose(problem, ours.backend)
    backend, reasons = chosen.name, backends.reasons(problem)
    if isinstance(weights, FrozenWeights):
        how = f"{ours.weights} weights"
        if weights.is_packed_for(chosen):
            how += ", packed once"
        elif ours.weights != "float32":
            how += ", dequantized at each call"
        return Explanation(backend, reasons, problem, ours.backend, how)
    # With the strides of the caller's tensor.
    read = input if isinstance(input, Tensor) and batch_sizes is None else rows
    copies = chosen.copies(read, weights) if rows.device.type == "cpu" else ()
    autocast = autocast_dtype(rows) if autocast_enabled(rows) else None
    precision = products.explain(problem, autocast) if backend == "cpu" else ""
    return Explanation(backend, reasons, problem, ours.backend, copies=copies, products=precision)


def _rows(layer: nn.Module, input: Batch, lengths: Lengths | None) -> tuple[Tensor, Tensor | None]:
    """The input in its inner form (values are not needed) and batch_sizes; raises if the layer could not read it."""
    cell = isinstance(layer, (GRUCell, nn.GRUCell, FrozenGRUCell))
    if cell and lengths is not None:
        raise ArgumentError("lengths goes with a GRU, got it with a GRUCell")
    if isinstance(input, Tensor) and not input.is_nested and lengths is None:
        dimensions = (1, 2) if cell else (2, 3)
        if input.dim() not in dimensions:
            raise ArgumentError(
                f"input must have {dimensions[0]} or {dimensions[1]} dimensions, got {list(input.shape)}"
            )
        if cell:
            return input.reshape(1, -1, input.shape[-1]), None
        if input.dim() == 2:
            return input.unsqueeze(1), None
        return input.transpose(0, 1) if layer.batch_first else input, None
    if cell:
        raise ArgumentTypeError(f"input of a GRUCell must be a dense tensor, got {type(input).__name__}")
    rows = enter(input, lengths, bool(layer.batch_first))
    return rows.data, rows.batch_sizes
