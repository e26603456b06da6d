"""The RNN operator, with one flat vector of parameters in cuDNN's order. `anygru.functional` computes a GRU, torch the other
networks."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from anygru import functional
from anygru.extend import layer_of_torch

from ..base import MXNetError
from ..state import state
from .arithmetic import same_dtype
from .registry import operator, truth

# The gates in the order of their rows for each `mode` of the operator. A network without gates has one block of rows.
GATE_NAMES = {"gru": ("_r", "_z", "_o"), "lstm": ("_i", "_f", "_c", "_o"), "rnn_tanh": ("",), "rnn_relu": ("",)}

# The number of rows of a weight for each unit.
GATES = {mode: len(names) for mode, names in GATE_NAMES.items()}
_OF_TORCH = {mode: layer_of_torch(mode) for mode in ("lstm", "rnn_tanh", "rnn_relu")}


def gates_of(mode: str) -> int:
    """The number of gates of a recurrent network.

    Raises:
        MXNetError: for an unknown mode.
    """
    if mode not in GATES:
        raise MXNetError(f"RNN: mode must be one of {', '.join(GATES)}, got {mode!r}")
    return GATES[mode]


def parameter_shapes(
    input_size: int, hidden: int, layers: int, directions: int, gates: int = 3, projection: int | None = None
) -> list[tuple[int, ...]]:
    """Shapes in the order of the flat vector: the weights of all layers and directions, then their biases."""
    weights: list[tuple[int, ...]] = []
    out = projection or hidden
    for layer in range(layers):
        features = input_size if layer == 0 else out * directions
        own: list[tuple[int, ...]] = [(gates * hidden, features), (gates * hidden, out)]
        weights += [*own, *([(out, hidden)] if projection else [])] * directions
    return weights + [(gates * hidden,)] * (2 * layers * directions)


def parameter_parts(
    input_size: int, hidden: int, layers: int, directions: int, mode: str
) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """The name, the position in the flat vector and the shape of each gate's part, in the vector's order."""
    shapes, first = iter(parameter_shapes(input_size, hidden, layers, directions, gates_of(mode))), 0
    for kind in ("weight", "bias"):
        for layer, side, group in product(range(layers), "lr"[:directions], ("i2h", "h2h")):
            shape = (hidden, *next(shapes)[1:])
            for gate in GATE_NAMES[mode]:
                yield f"{side}{layer}_{group}{gate}_{kind}", first, shape
                first += torch.Size(shape).numel()


def input_size_of(numbers: int, hidden: int, layers: int, directions: int, mode: str) -> int:
    """The input size that implies the flat vector's length."""
    rows = gates_of(mode) * hidden * directions
    above = (layers - 1) * rows * (hidden * directions + hidden + 2)
    # Each row of the first layer has `features + hidden` weights and two biases.
    return (numbers - above) // rows - hidden - 2


def in_torch_order(parameters: Sequence[Tensor], projected: bool = False) -> list[Tensor]:
    """Reorder (weights of all layers, then biases of all layers) by layers: two weights, two biases, and the weight of a
    projection."""
    many = 3 if projected else 2
    cells = len(parameters) // (many + 2)
    weights, biases = parameters[: many * cells], parameters[many * cells :]
    ordered: list[Tensor] = []
    for at in range(cells):
        first, second, *third = weights[many * at : many * (at + 1)]
        ordered += [first, second, biases[2 * at], biases[2 * at + 1], *third]
    return ordered


def unpack(
    vector: Tensor,
    input_size: int,
    hidden: int,
    layers: int,
    directions: int,
    gates: int = 3,
    projection: int | None = None,
) -> list[Tensor]:
    """Views of the flat vector, in anygru's order.

    Raises:
        MXNetError: when the vector's length does not fit the sizes.
    """
    shapes = parameter_shapes(input_size, hidden, layers, directions, gates, projection)
    sizes = [torch.Size(s).numel() for s in shapes]
    if vector.numel() != sum(sizes):
        raise MXNetError(
            f"RNN: parameters must hold {sum(sizes)} numbers for input size {input_size}, state_size={hidden}, "
            f"num_layers={layers}, {directions} direction(s); got {vector.numel()}"
        )
    parts = vector.reshape(-1).split(sizes)
    whole = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    return in_torch_order(whole, bool(projection))


def _effective_dropout(dropout: float, data: Tensor, layers: int) -> float:
    """The effective probability of dropout: MXNet's float32 layers on the CPU ignore dropout (recorded from 1.9.1)."""
    if not state.training or layers == 1:
        return 0.0  # a single layer has no dropout between layers
    if dropout and data.dtype == torch.float32 and data.device.type == "cpu":
        warnings.warn(
            f"MXNet's float32 recurrent layers on the CPU ignore dropout in training, so dropout={dropout} has no effect "
            "here; gluon.nn.Dropout between layers has an effect, and so has a float64 layer",
            stacklevel=2,
        )
        return 0.0
    return dropout


def run_gru(
    data: Tensor,
    initial: Tensor | None,
    weights: list[Tensor],
    bidirectional: bool,
    dropout: float,
    lengths: Tensor | None = None,
    batch_first: bool = False,
    state_for_any: bool = False,
) -> tuple[Tensor, Tensor]:
    """The GRU of every layer, cell and symbol of this dialect.

    Args:
        data: [T, N, C], or [N, T, C] if batch_first.
        initial: [layers * directions, N, H]; None begins from zeros.
        weights: as `anygru.functional.gru` takes them.
        lengths: [N] valid steps of each sequence, in any dtype, or None.
        state_for_any: whether `initial` has batch size 1 for any batch size, as a graph's state of unknown size.
    """
    batch = data.shape[0 if batch_first else 1]
    hidden = weights[1].shape[1]
    if data.device.type == "meta":
        directions = 2 if bidirectional else 1
        return data.new_empty(*data.shape[:2], hidden * directions), data.new_empty(len(weights) // 4, batch, hidden)
    if data.dtype == torch.float16 and data.device.type == "cpu":
        raise MXNetError("RNN: float16 is not supported on the CPU; cast to float32")
    if initial is not None:
        same_dtype(data, initial)
        if state_for_any:
            initial = initial.expand(-1, batch, -1)
        if tuple(initial.shape) != (len(weights) // 4, batch, hidden):
            raise MXNetError(
                f"RNN: state must be of shape {(len(weights) // 4, batch, hidden)}, got {tuple(initial.shape)}"
            )
    same_dtype(data, weights[0])
    dropout = _effective_dropout(dropout, data, len(weights) // (8 if bidirectional else 4))
    return functional.gru(
        data,
        initial,
        weights,
        lengths=None if lengths is None else lengths.long(),
        batch_first=batch_first,
        bidirectional=bidirectional,
        dropout=dropout,
        training=state.training,
    )


class _OneNode(torch.autograd.Function):
    """Join the results of a network in one node of the graph, so that a backward pass releases them together, as in MXNet."""

    @staticmethod
    def forward(ctx: Any, *results: Tensor) -> tuple[Tensor, ...]:
        return tuple(result.view_as(result) for result in results)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return gradients


def _as_one_node(*results: Tensor) -> tuple[Tensor, ...]:
    return _OneNode.apply(*results) if state.recording else results


def _projected_lstm(*arguments: Any) -> tuple[Tensor, ...]:
    """`torch.lstm` with a projection, without torch's warning about oneDNN."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")
        return _OF_TORCH["lstm"](*arguments)


def _initial(
    states: Sequence[Tensor], shapes: list[tuple[int, int, int]], data: Tensor, state_for_any: bool
) -> list[Tensor]:
    """The initial states, by default zeros. Raises MXNetError for other shapes."""
    given = list(states) or [data.new_zeros(shape) for shape in shapes]
    given = [part.expand(-1, shapes[0][1], -1) if state_for_any else part for part in given]
    if [tuple(part.shape) for part in given] != shapes:
        raise MXNetError(f"RNN: states must be of shapes {shapes}, got {[tuple(part.shape) for part in given]}")
    return given


def run_recurrent(
    mode: str,
    data: Tensor,
    states: Sequence[Tensor],
    weights: list[Tensor],
    bidirectional: bool,
    dropout: float,
    lengths: Tensor | None = None,
    batch_first: bool = False,
    state_for_any: bool = False,
    projected: bool = False,
) -> tuple[Tensor, ...]:
    """The output and the last states of a recurrent network. The arguments are as in `run_gru`.

    Args:
        mode: "gru", "lstm", "rnn_tanh" or "rnn_relu".
        states: the hidden state, and the cell state of an LSTM; zeros if empty. projected: whether each layer and direction of an
            LSTM has a fifth weight, which projects its output.
    """
    if not 0 <= dropout <= 1:
        raise MXNetError(f"RNN: p must be between 0 and 1, got {dropout}")
    if gates_of(mode) == 3:
        return run_gru(
            data, states[0] if states else None, weights, bidirectional, dropout, lengths, batch_first, state_for_any
        )
    directions = 2 if bidirectional else 1
    cells = len(weights) // (5 if projected else 4)
    batch, layers = data.shape[0 if batch_first else 1], cells // directions
    out, hidden = weights[1].shape[1], weights[0].shape[0] // GATES[mode]
    shapes = [(cells, batch, size) for size in (out, hidden)[: 2 if mode == "lstm" else 1]]
    if data.device.type == "meta":
        return (data.new_empty(*data.shape[:2], out * directions), *map(data.new_empty, shapes))
    same_dtype(data, weights[0], *states)
    given = _initial(states, shapes, data, state_for_any)
    initial: Any = given if mode == "lstm" else given[0]
    dropout = _effective_dropout(dropout, data, layers)
    compute: Any = _projected_lstm if projected else _OF_TORCH[mode]
    if lengths is None:
        results = compute(data, initial, weights, True, layers, dropout, state.training, bidirectional, batch_first)
        return _as_one_node(*results)
    packed = pack_padded_sequence(data, lengths.long().cpu(), batch_first, enforce_sorted=False)
    order: Any = packed.sorted_indices
    initial = [part.index_select(1, order) for part in given] if mode == "lstm" else given[0].index_select(1, order)
    rows, *last = compute(
        packed.data, packed.batch_sizes, initial, weights, True, layers, dropout, state.training, bidirectional
    )
    output, _ = pad_packed_sequence(
        PackedSequence(rows, packed.batch_sizes, order, packed.unsorted_indices),
        batch_first,
        total_length=data.shape[1 if batch_first else 0],
    )
    return _as_one_node(output, *(part.index_select(1, packed.unsorted_indices) for part in last))


def _state_names(attributes: Mapping[str, Any]) -> list[str]:
    return ["state", "state_cell"] if attributes.get("mode") == "lstm" else ["state"]


def _rnn_inputs(attributes: Mapping[str, Any]) -> list[str]:
    lengths = ["sequence_length"] if truth(attributes.get("use_sequence_length", False)) else []
    return ["data", "parameters", *_state_names(attributes), *lengths]


def _rnn_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    data = shapes[0]
    if data is None:
        return shapes
    if len(data) != 3:
        raise MXNetError(f"RNN: data must be [T, N, C], got shape {data}")
    hidden, layers = int(attributes["state_size"]), int(attributes["num_layers"])
    directions = 2 if truth(attributes.get("bidirectional", False)) else 1
    gates = gates_of(attributes.get("mode", "gru"))
    projection = int(attributes.get("projection_size") or 0)
    numbers = sum(
        torch.Size(s).numel() for s in parameter_shapes(data[2], hidden, layers, directions, gates, projection)
    )
    states = [(layers * directions, data[1], size) for size in (projection or hidden, hidden)]
    needed = [data, (numbers if data[2] else 0,), *states[: len(_state_names(attributes))], (data[1],)]
    return needed[: len(shapes)]


def _rnn_outputs(attributes: Mapping[str, Any]) -> int:
    return 1 + len(_state_names(attributes)) if truth(attributes.get("state_outputs", False)) else 1


@operator(
    "RNN",
    demands=("state_size", "num_layers", "mode"),
    inputs=5,
    infer=_rnn_shapes,
    needs=_rnn_inputs,
    visible=_rnn_outputs,
    output_names=("output", "state_output", "statecell_output"),
)
def _rnn(
    data: Tensor,
    parameters: Tensor,
    state: Tensor | None = None,
    state_cell: Tensor | None = None,
    sequence_length: Tensor | None = None,
    state_size: int | None = None,
    num_layers: int | None = None,
    bidirectional: bool = False,
    mode: str = "gru",
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    # On a CPU MXNet 1.9.1 accepts the three bounds of the cell state and ignores them (observed).
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    state_for_any: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    if state_size is None or num_layers is None:
        raise MXNetError("RNN: state_size and num_layers must be given")
    directions = 2 if truth(bidirectional) else 1
    sizes = (data.shape[2], int(state_size), int(num_layers), directions, gates_of(mode), projection_size)
    weights = unpack(parameters, *sizes)
    extra = [part for part in (state_cell, sequence_length) if part is not None]
    # In a graph the inputs are positional: without a cell state the lengths are the fourth input.
    ragged = truth(use_sequence_length)
    if ragged and len(extra) < 1 + (mode == "lstm" and state is not None):
        raise MXNetError("RNN: use_sequence_length=True needs sequence_length")
    lengths = extra.pop() if ragged else None
    states = [state, *extra] if state is not None else []
    options = {"state_for_any": state_for_any, "projected": bool(projection_size)}
    result = run_recurrent(mode, data, states, weights, directions == 2, float(p), lengths, **options)
    return result if truth(state_outputs) else result[0]
