"""`gru` and `gru_cell`: check once, choose a backend, compute. Every GRU of anygru ends here."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from .errors import ArgumentError, ArgumentTypeError
from .facts import sequences
from .facts.arguments import (
    check_dropout,
    check_groups,
    check_norm,
    check_state,
    check_state_type,
    is_shape,
    make_noise,
)
from .facts.decays import Align, PerStep, join
from .facts.formula import Activation, Reset, make_formula
from .facts.modifiers import NONE, DropoutOn, Modifiers
from .facts.problem import BackendName, Between, Options
from .facts.sequences import Batch, Lengths
from .facts.torch_private import tracing_state
from .facts.weights import Layout, check_tensors
from .operator import tracing
from .operator.active_modes import unrecorded
from .operator.casting import AnyWeights, autocast_enabled
from .operator.execution import direct, may_be_cast_by_torch, run, sizes_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .operator.typed_calls import CallOptions, Form
__all__ = ["gru", "gru_cell"]


def __dir__() -> list[str]:
    return __all__


@overload
def gru(
    input: "Form",
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    *,
    return_states: Literal[False] = False,
    **options: "Unpack[CallOptions]",
) -> "tuple[Form, Tensor]": ...


@overload
def gru(
    input: "Form",
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    *,
    return_states: Literal[True],
    **options: "Unpack[CallOptions]",
) -> "tuple[Form, Tensor, Form]": ...


@overload
def gru(
    input: Batch,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    *,
    return_states: bool = False,
    **options: "Unpack[CallOptions]",
) -> tuple[Any, ...]: ...


def gru(
    input: Batch,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    *,
    lengths: Lengths | None = None,
    batch_first: bool = False,
    batch_first_states: bool = False,
    bidirectional: bool = False,
    bias: bool = True,
    dropout: float | Between = 0.0,
    training: bool = False,
    reverse: bool = False,
    resets: PerStep | None = None,
    reset_states: PerStep | None = None,
    decay: PerStep | None = None,
    return_states: bool = False,
    norm: Literal["layer"] | None = None,
    zoneout: float = 0.0,
    recurrent_dropout: float = 0.0,
    recurrent_dropout_on: DropoutOn = "state",
    groups: int = 1,
    input_groups: int = 1,
    gradient_clipping: float | None = None,
    reset: Reset = "after",
    gate_activation: Activation = "sigmoid",
    activation: Activation = "tanh",
    backend: BackendName | None = None,
) -> tuple[Any, ...]:
    """A GRU of one or more layers and one or two directions over a batch of sequences.

    See `anygru.formula` for the formulas and their sources. T is the sequence length, B the batch size, I the input size, H the
    hidden size, L the number of layers, D the number of directions.

    Args:
        input: [T, B, I] ([B, T, I] if batch_first), or one sequence [T, I]; or a ragged batch: a list or tuple of [L_b, I]
            tensors in any order, a PackedSequence, a nested tensor [B, (L_b), I], or a padded tensor with lengths. No step is
            computed for padding. Sequences of length 0 and batches of size 0 are legal. float32, float64, bfloat16 or float16.
        h_0: the initial state [L*D, B, H] ([L*D, H] for one sequence) in the caller's order of sequences, or [L*D, 1, H] for all
            of them, as a learned one is; None: zeros.
        batch_first_states: h_0 and h_n of a batch are [B, L*D, H] (and [1, L*D, H] for all sequences), in every form of batch.
        weights: flat, in torch's order: for each layer, for each direction, weight_ih [3H, I] (the input size of a layer above
            the first is D*H), weight_hh [3H, H], and with bias bias_ih [3H], bias_hh [3H]; rows in the order reset, update,
            candidate. L follows from their number.
        lengths: int [B], in steps, for a padded tensor; output past a sequence's end is zero.
        bias: whether weights holds biases.
        dropout: probability of zeroing an element of the output of each layer but the last, when training; or a function
            of the caller's, called as `dropout(layer, output)` for each layer from 1 on, training or not. It gets the
            output of the layer below ([T, B, D*H], or packed rows [N, D*H] of a ragged batch, the longest sequence
            first) and returns what layer `layer` reads: a tensor, or a tuple with one tensor for each direction.
        reverse: the only direction reads each sequence from its last step to its first, as the second direction of a
            bidirectional GRU does; h_n is the state after the first step.
        resets: bool, or numbers (0: no reset), in the form of the input without its features: [T, B] ([B, T] if
            batch_first), [T] for one sequence, a list of [L_b], a PackedSequence of [N]. Where it is true, the state of
            every layer and direction is 0 before that step (in the reverse direction, before it in that direction's
            order); at the first step it clears h_0.
        reset_states: the states that resets go to instead of 0: [L*D, T, B, H] in the form of the input (as
            `return_states` gives them; steps without a reset are not read), or [L*D, 1, H] for all. Differentiable.
        decay: the state is multiplied by it before each step: [T, B, H] or [T, B, 1] (other forms of input as for resets); with
            several layers or directions [L*D, T, B, H] or [L*D, T, B, 1]. A decay of 0 makes the state 0, even if it
            was infinite. Differentiable.
        return_states: also return the states of every layer and direction at every step.
        norm: "layer" normalises the products with the weights (Ba et al. 2016, see docs/formulas.md); weights then holds
            gain_ih [3H] and gain_hh [3H] after the biases of each direction.
        zoneout: probability that a hidden unit keeps its state in a step, when training (Krueger et al. 2017); otherwise the
            share of the old state in the new one.
        groups: the number G of parts of the hidden units. Each part has separate weights and reads only its own part of
            the state. All weights then begin with a dimension G: weight_ih [G, 3H/G, I], weight_hh [G, 3H/G, H/G],
            biases and gains [G, 3H/G]. A group is a GRU of H/G units (with a separate norm); its output is its part of
            the features.
        input_groups: G: each group reads its own part of a layer's input, consecutive features as in torch.nn.Conv1d, and
            weight_ih is [G, 3H/G, I/G]; 1: all of it.
        gradient_clipping: the greatest magnitude, in each unit, of the gradient that a step passes to the state before
            it, so that no gradient grows through time; None: no limit. Outputs do not change.
        recurrent_dropout: probability of zeroing, when training, with the rest scaled up: a unit of the state as products read
            it, the same in all steps (recurrent_dropout_on="state": Gal and Ghahramani 2016), or a unit of the candidate of
            one step (recurrent_dropout_on="candidate": Semeniuta et al. 2016).
        reset: "after" (cuDNN, torch) or "before" (Cho et al. 2014).
        gate_activation, activation: a name of `anygru.formula.ACTIVATIONS` or a callable on tensors.
        backend: None for the fastest that can, or a name of `anygru.backends.NAMES`.

    Returns:
        The output in the form of the input, with D*H features, and h_n [L*D, B, H] ([L*D, H] for one sequence), the state
        after each sequence's own last step (for the reverse direction, its first). With return_states also the states before
        any dropout between the layers, [L*D, T, B, H] ([L*D, B, T, H] if batch_first, [L*D, T, H] for one sequence); for a
        list a list of [L*D, L_b, H]; a PackedSequence has data [N, L*D, H], a nested tensor is [B, (L_b), L*D, H].

    Raises:
        ArgumentError (a ValueError): a shape, number or name that does not fit; the message names the argument.
        ArgumentTypeError (a TypeError): a type, dtype or device that does not fit.
        BackendError (a RuntimeError): the named backend cannot take the call; the message has its reason.
    """
    formula = make_formula(reset, gate_activation, activation, gradient_clipping)
    check_tensors(weights)
    if h_0 is not None:
        check_state_type(h_0, "h_0")
    if reverse and bidirectional:
        raise ArgumentError("reverse goes with one direction, got it with bidirectional=True")
    if dropout != 0.0 and not callable(dropout):
        probability = check_dropout(dropout)
        dropout = probability if training else 0.0
    noise = None
    if zoneout != 0.0 or recurrent_dropout != 0.0 or recurrent_dropout_on != "state":
        noise = make_noise(zoneout, recurrent_dropout, recurrent_dropout_on, training)
    has_norm = norm is not None and check_norm(norm) is not None
    splits_input = not (groups == input_groups == 1) and check_groups(groups, input_groups)
    layer = Layout(1, bidirectional, bias, reverse, has_norm, groups, splits_input)
    options = Options(
        formula, layer, dropout, backend, noise, return_states, batch_first, batch_first_states=batch_first_states
    )
    return compute(input, h_0, weights, lengths, options, resets, decay, reset_states)


def compute(
    input: Batch,
    h_0: Tensor | None,
    weights: AnyWeights,
    lengths: Lengths | None,
    options: Options,
    resets: PerStep | None = None,
    decay: PerStep | None = None,
    reset_states: PerStep | None = None,
) -> tuple[Any, ...]:
    """`gru` with checked options, and with weights and a state that are tensors."""
    if options.batch_first_states:
        h_0, options = _states_second(h_0, weights, options)
        output, h_n, *rest = compute(input, h_0, weights, lengths, options, resets, decay, reset_states)
        return output, h_n.transpose(0, 1) if h_n.dim() == 3 else h_n, *rest
    given = None if resets is None and decay is None and reset_states is None else (resets, decay, reset_states)
    if isinstance(input, Tensor) and not input.is_nested and (lengths is None or _is_packed_by_node(input, options)):
        modifiers = NONE if given is None else _join_dense(given, input, weights, options)
        return _dense(input, h_0, weights, options, modifiers, lengths)
    if tracing_state() is not None and not isinstance(input, PackedSequence):
        raise ArgumentError(
            "torch.jit.trace and the legacy ONNX exporter would record the lengths of this batch as constants; record a dense "
            "tensor or a PackedSequence, or use torch.export"
        )
    rows = sequences.enter(input, lengths, options.batch_first)
    modifiers = NONE
    if given is not None:
        dimensions = input.dim() - 1 if isinstance(input, Tensor) and not input.is_nested else 1
        modifiers = join(*given, rows.align, sizes_of(weights, options), rows.data, dimensions)
    output, h_n, *states = run(
        rows.data, h_0, weights, rows.batch, rows.batch_sizes, options, modifiers, order=rows.order
    )
    if not states:
        return rows.restore(output), h_n
    return rows.restore(output), h_n, *(_states_first(rows.restore(each)) for each in states)


def _states_second(h_0: Tensor | None, weights: AnyWeights, options: Options) -> tuple[Tensor | None, Options]:
    """A state [B, L*D, H] as [L*D, B, H], and the options for it; a state of one sequence does not change."""
    if h_0 is not None and h_0.dim() == 3:
        layout, hidden = sizes_of(weights, options)
        own = (layout.states(), hidden)
        if h_0.shape[1:] != own and not is_shape(h_0.shape[1:], own):
            raise ArgumentError(f"h_0 must be [B, L*D, H] = [B, {layout.states()}, {hidden}], got {list(h_0.shape)}")
        h_0 = h_0.transpose(0, 1).contiguous()
    return h_0, options._replace(batch_first_states=False)


def _states_first(states: Batch) -> Batch:
    """States [..., L*D, H] of a ragged batch in its own form, with L*D in front where that can be."""
    if isinstance(states, (list, tuple)) and not isinstance(states, PackedSequence):
        return type(states)(each.movedim(-2, 0) for each in states)
    if isinstance(states, Tensor) and not states.is_nested:
        return states.movedim(-2, 0)
    return states


def _is_packed_by_node(input: Tensor, options: Options) -> bool:
    """Whether a padded batch is in a graph, where it is one node, which packs it when the graph runs."""
    padded = input.dim() == 3 and torch.compiler.is_compiling()
    return padded and tracing.is_one_node(options.formula, options.backend)


def _turned(batch_first: bool, output: Tensor, h_n: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
    """Results for [T, B, I] as the caller's; states [T, B, L*D, H]."""
    if batch_first:
        output, states = output.transpose(0, 1), tuple(each.transpose(0, 1) for each in states)
    return output, h_n, *(each.movedim(-2, 0) for each in states)


def align_dense(input: Tensor, batch_first: bool) -> Align:
    """Values [T, B, F] ([B, T, F] if batch_first, [T, F] for one sequence) as [T, B, F]."""

    def align(values: PerStep, name: str) -> Tensor:
        if not isinstance(values, Tensor) or not is_shape(values.shape[:-1], input.shape[:-1]):
            came = list(values.shape[:-1]) if isinstance(values, Tensor) else type(values).__name__
            raise ArgumentError(f"{name} must have a value for each step, {list(input.shape[:-1])}, got {came}")
        if values.dim() == 2:
            return values.unsqueeze(1)
        return values.transpose(0, 1) if batch_first else values

    return align


_PerStep: TypeAlias = tuple[PerStep | None, PerStep | None, PerStep | None]
"""Resets, decay and the states that resets go to, not all of them None."""


def _join_dense(given: _PerStep, input: Tensor, weights: AnyWeights, options: Options) -> Modifiers:
    """The modifiers of one tensor, or of a padded one."""
    align = align_dense(input, options.batch_first)
    return join(*given, align, sizes_of(weights, options), input, input.dim() - 1)


def gru_cell(
    input: Tensor,
    h: Tensor | None,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    reset: Reset = "after",
    gate_activation: Activation = "sigmoid",
    activation: Activation = "tanh",
    backend: BackendName | None = None,
    groups: int = 1,
    input_groups: int = 1,
    gradient_clipping: float | None = None,
) -> Tensor:
    """One step of a GRU: the state [B, H] after input [B, I] from state h [B, H]. Without the B, of one sequence.

    Args:
        h: None: zeros.
        w_ih, w_hh: [3H, I] and [3H, H]; rows in the order reset, update, candidate.
        b_ih, b_hh: [3H] each, both or none.
        reset, gate_activation, activation, backend, groups, input_groups, gradient_clipping: as for `gru`.

    Raises:
        ArgumentError, ArgumentTypeError, BackendError: as `gru` does.
    """
    if (b_ih is None) != (b_hh is None):
        raise ArgumentError("b_ih and b_hh must both be given or both be None")
    weights = (w_ih, w_hh) if b_ih is None or b_hh is None else (w_ih, w_hh, b_ih, b_hh)
    check_tensors(weights)
    if h is not None:
        check_state_type(h, "h")
    options = Options(
        make_formula(reset, gate_activation, activation, gradient_clipping),
        Layout(bias=b_ih is not None, groups=groups, splits_input=check_groups(groups, input_groups)),
        backend=backend,
    )
    return compute_cell(input, h, weights, options)


def compute_cell(input: Tensor, h: Tensor | None, weights: AnyWeights, options: Options) -> Tensor:
    """`gru_cell` with checked options, and with weights and a state that are tensors."""
    if not isinstance(input, Tensor):
        raise ArgumentTypeError(f"input must be a tensor [B, I] or [I], got {type(input).__name__}")
    if input.dim() not in (1, 2):
        raise ArgumentError(f"input must be [B, I] or [I], got {list(input.shape)}")
    if h is not None and h.dim() != input.dim():
        raise ArgumentError(f"h must have {input.dim()} dimensions as input has, got {list(h.shape)}")
    found = direct_cell(input, h, weights, options)
    if found is not None:
        return found
    batched = input.dim() == 2
    if h is not None:
        unrecorded(_check_state_of_cell, h, input, sizes_of(weights, options)[1])
    rows, state = (input, h) if batched else (input[None], None if h is None else h[None])
    after = run(rows[None], None if state is None else state[None], weights, rows.shape[0], None, options)[1][0]
    return after if batched else after[0]


def _check_state_of_cell(h: Tensor, input: Tensor, hidden_size: int) -> None:
    form = "[B, H]" if h.dim() == 2 else "[H]"
    shapes = ((*input.shape[:-1], hidden_size), (1, hidden_size))
    check_state(h, "h", form, shapes, input, is_cast=autocast_enabled(input))


def direct_cell(input: Tensor, h: Tensor | None, weights: AnyWeights, options: Options) -> Tensor | None:
    """The fast path of `compute_cell`, which also checks; None for a call that it does not take, or that is wrong."""
    if options.noise is not None or torch.compiler.is_compiling():
        return None
    if autocast_enabled(input) and not may_be_cast_by_torch(input):
        return None
    found: Tensor | None = direct(True, input, h, weights, options)
    return found


def _dense(
    input: Tensor,
    h_0: Tensor | None,
    weights: AnyWeights,
    options: Options,
    modifiers: Modifiers,
    lengths: Lengths | None,
) -> tuple[Tensor, ...]:
    """Sequences in one tensor: of one length, or a padded batch in a graph."""
    dimensions = input.dim()
    if dimensions == 2:
        if h_0 is not None:
            if h_0.dim() != 2:
                raise ArgumentError(f"h_0 must be [L*D, H] for one sequence [T, I], got {list(h_0.shape)}")
            h_0 = h_0.unsqueeze(1)
        output, h_n, *states = run(input.unsqueeze(1), h_0, weights, 1, None, options, modifiers)
        return output.squeeze(1), h_n.squeeze(1), *(each.squeeze(1).movedim(-2, 0) for each in states)
    if dimensions != 3:
        raise ArgumentError(f"input must have 2 or 3 dimensions, got {list(input.shape)}")
    first = options.batch_first
    steps = input.transpose(0, 1) if first else input
    sizes = None if lengths is None else torch.as_tensor(lengths)
    found = run(steps, h_0, weights, steps.shape[1], sizes, options, modifiers)
    return _turned(first, *found) if first or options.states else found
