"""Let `keras.layers.GRU` and `GRUCell` on Keras's torch backend compute through anygru: part of `anygru.accelerate()`.

Keras 3 stacks its gates in the order z, r, h along the columns, blends z * h + (1 - z) * hh as torch does, and has both formulas:
`reset_after=True` is reset="after" with two biases [2, 3H], `reset_after=False` is reset="before" with one [3H]. Where
a mask [B, T] is False, the state does not change and the output is the output of the step before (zeros with
`zero_output_for_mask`).
"""

import sys
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..facts import torch_private
from ..functional import gru, gru_cell
from .hook import AfterImport

if TYPE_CHECKING:
    from keras.layers import GRU, GRUCell

States = Tensor | Sequence[Tensor]
Mask = Tensor | Sequence[Tensor]
LIMITS = "Keras's own loop computes recurrent_dropout, and dropout with implementation=1, while training"
_MODULE = "keras.src.layers.rnn.gru"

# Keras's activations by name, as its torch backend computes them (keras/src/backend/torch/nn.py of 3.15); others are called as
# Keras has them, and computed by the reference.
_NAMES = {
    "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "linear": "identity", "hard_sigmoid": "hardsigmoid",
    "hard_tanh": "hardtanh", "softsign": "softsign", "softplus": "softplus", "elu": "elu", "gelu": "gelu",
    "silu": "silu",
}  # fmt: skip

# The greatest size at which a cell keeps a second, rearranged copy of its weights.
_LARGE = 1 << 20
_arranged: "weakref.WeakKeyDictionary[GRUCell, tuple[list[Tensor], list[Tensor]]]" = weakref.WeakKeyDictionary()

_originals: dict[str, Callable[..., Any]] = {}
_finder: AfterImport | None = None


def start() -> None:
    """Reroute Keras's layers, now or when Keras is imported. A second call changes nothing."""
    global _finder
    if _MODULE in sys.modules:
        _reroute()
    elif _finder is None:
        _finder = AfterImport(_MODULE, _reroute)
        sys.meta_path.insert(0, _finder)


def end() -> None:
    """Undo `start`."""
    global _finder
    if _finder is not None and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    _finder = None
    if _originals:
        module = sys.modules[_MODULE]
        module.GRU.inner_loop = _originals.pop("inner_loop")
        module.GRU.call = _originals.pop("layer_call")
        module.GRUCell.call = _originals.pop("call")


def is_rerouted() -> bool:
    """Whether Keras's layers compute through anygru in this process."""
    return bool(_originals)


def _reroute() -> None:
    module = sys.modules[_MODULE]
    if _originals or module.backend.backend() != "torch":
        return
    _originals.update(inner_loop=module.GRU.inner_loop, layer_call=module.GRU.call, call=module.GRUCell.call)
    module.GRU.inner_loop = _inner_loop
    module.GRU.call = _layer_call
    module.GRUCell.call = _call


def why_not(cell: "GRUCell", inputs: object, training: bool) -> str | None:
    """Why Keras's own loop computes a call, or None if anygru does."""
    if not isinstance(inputs, Tensor) or inputs.device.type == "meta":
        return "the call asks for shapes only"
    if training and cell.recurrent_dropout:
        return "recurrent_dropout masks the state differently for each gate"
    if training and cell.dropout and cell.implementation == 1:
        return "implementation=1 masks the input differently for each gate"
    return None


def _layer_call(
    self: "GRU",
    sequences: Tensor,
    initial_state: States | None = None,
    mask: Mask | None = None,
    training: bool = False,
) -> Any:
    """Replaces `GRU.call`. Skips Keras's preparations for its loop, which take longer than a small GRU."""
    cell = self.cell
    plain = initial_state is None and mask is None and not self.stateful and type(self).inner_loop is _inner_loop
    if not plain or cell.dropout or cell.recurrent_dropout or why_not(cell, sequences, training) is not None:
        arguments = {"initial_state": initial_state, "mask": mask, "training": training}
        return _originals["layer_call"](self, sequences, **arguments)
    weights, options = _weights(cell)
    sequences = sequences.to(weights[0].dtype)
    if self.go_backwards:
        sequences = sequences.flip(1)
    outputs, h_n = gru(sequences, None, weights, batch_first=True, bias=len(weights) == 4, **options)
    output = outputs if self.return_sequences else outputs[:, -1]
    return (output, h_n[0]) if self.return_state else output


def _inner_loop(
    self: "GRU", sequences: Tensor, initial_state: States, mask: Mask | None, training: bool = False
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Replaces `GRU.inner_loop`: (last output [B, H], outputs [B, T, H] or [B, 1, H], [state [B, H]])."""
    if why_not(self.cell, sequences, training) is not None:
        found: tuple[Tensor, Tensor, list[Tensor]] = _originals["inner_loop"](
            self, sequences, initial_state, mask, training=training
        )
        return found
    if training and self.cell.dropout:
        sequences = sequences * self.cell.get_dropout_mask(sequences[:, 0, :]).unsqueeze(1)
    state = initial_state[0] if isinstance(initial_state, list | tuple) else initial_state
    mask = mask[0] if isinstance(mask, list | tuple) else mask
    weights, options = _weights(self.cell)
    sequences = _tensor(sequences).to(weights[0].dtype)
    h_0 = _tensor(state).to(weights[0].dtype).unsqueeze(0)
    if self.stateful:
        h_0 = h_0.clone()  # Keras writes the new state over it before the backward pass
    mask = None if mask is None else _tensor(mask).bool()
    if self.go_backwards:
        sequences, mask = sequences.flip(1), None if mask is None else mask.flip(1)
    bias = len(weights) == 4
    if mask is None or bool(mask.all()):
        outputs, h_n = gru(sequences, h_0, weights, batch_first=True, bias=bias, **options)
    else:
        lengths = mask.sum(1)
        # The steps that count first, in their order: a mask with holes becomes a ragged batch.
        first = torch.argsort(mask.logical_not().byte(), dim=1, stable=True).unsqueeze(2)
        packed = sequences.gather(1, first.expand_as(sequences))
        ragged, h_n = gru(packed, h_0, weights, lengths=lengths.cpu(), batch_first=True, bias=bias, **options)
        latest = mask.cumsum(1) - 1
        seen = mask if self.zero_output_for_mask else latest >= 0
        outputs = ragged.gather(1, latest.clamp(min=0).unsqueeze(2).expand_as(ragged)) * seen.unsqueeze(2)
    last = outputs[:, -1]
    return last, outputs if self.return_sequences else last.unsqueeze(1), [h_n[0]]


def _call(self: "GRUCell", inputs: Tensor, states: States, training: bool = False) -> tuple[Tensor, Any]:
    """Replaces `GRUCell.call`: the new state [B, H], twice, the second time nested as `states` is."""
    if why_not(self, inputs, training) is not None:
        found: tuple[Tensor, Any] = _originals["call"](self, inputs, states, training=training)
        return found
    if training and self.dropout:
        inputs = inputs * self.get_dropout_mask(inputs)
    nested = isinstance(states, list | tuple)
    weights, options = _weights(self)
    dtype = weights[0].dtype
    h = gru_cell(_tensor(inputs).to(dtype), _tensor(states[0] if nested else states).to(dtype), *weights, **options)
    return h, [h] if nested else h


def _weights(cell: "GRUCell") -> tuple[list[Tensor], dict[str, Any]]:
    """The cell's weights as the core stacks them, with gradients, and its formula."""
    given = [_tensor(kernel) for kernel in (cell.kernel, cell.recurrent_kernel)]
    if cell.use_bias:
        given.append(_tensor(cell.bias))
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given):
        weights = list(_Arranged.apply(*given))  # type: ignore[no-untyped-call]
    else:
        weights = _remembered(cell, given)
    return weights, {
        "reset": "after" if cell.reset_after else "before",
        "gate_activation": _activation(cell.recurrent_activation),
        "activation": _activation(cell.activation),
    }


def _arrange(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Kernels [I, 3H] and [H, 3H] and the bias, [2, 3H] or [3H], as the core's weights."""
    weights = [_swap(kernel.t()) for kernel in tensors[:2]]
    for rows in tensors[2:]:
        pair = rows if rows.dim() == 2 else torch.stack((rows, torch.zeros_like(rows)))
        weights += [_swap(bias) for bias in pair]
    return weights


def _swap(rows: Tensor) -> Tensor:
    """Rows in Keras's order z, r, n in the core's r, z, n, and the reverse."""
    first, second, candidate = rows.chunk(3)
    return torch.cat((second, first, candidate))


class _Arranged(torch.autograd.Function):
    """`_arrange` as one node of autograd."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(_arrange(tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.one_bias = len(inputs) == 3 and inputs[2].dim() == 1

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        rows = [_swap(grad) for grad in grads]
        kernels = [grad.t() for grad in rows[:2]]
        if len(rows) == 2:
            return tuple(kernels)
        return (*kernels, rows[2] if ctx.one_bias else torch.stack(rows[2:]))

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> tuple[Tensor, ...]:
        return tuple(_arrange(tangents))


def _remembered(cell: "GRUCell", given: Sequence[Tensor]) -> list[Tensor]:
    """`_arrange`, remembered for a small cell for as long as its weights have the same values: comparing them is faster."""
    if sum(tensor.numel() for tensor in given) > _LARGE or _is_watched():
        return _arrange(given)
    found = _arranged.get(cell)
    if found is not None and _are_equal(found[0], given):
        return found[1]
    weights = _arrange(given)
    _arranged[cell] = [tensor.detach().clone() for tensor in given], weights
    return weights


def _are_equal(ones: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return len(ones) == len(others) and all(
        one.dtype is other.dtype and one.device == other.device and torch.equal(one, other)
        for one, other in zip(ones, others, strict=True)
    )


def _is_watched() -> bool:
    """Whether the call is traced, transformed or recorded: values cannot be compared then."""
    tracing = torch.compiler.is_compiling() or torch_private.tracing_state() is not None
    return tracing or torch_private.dispatch_modes() > 0 or torch_private.transform() is not None


def _activation(function: Callable[[Any], Any]) -> str | Callable[[Any], Any]:
    module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
    return _NAMES.get(name, function) if module.startswith("keras.") else function


def _tensor(value: object) -> Tensor:
    """A variable's tensor, cast as Keras's policy asks, or the tensor itself."""
    tensor: Tensor = _backend().convert_to_tensor(value)
    return tensor


def _backend() -> ModuleType:
    backend: ModuleType = sys.modules[_MODULE].backend
    return backend
