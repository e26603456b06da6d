"""The RNN operator: one flat vector of parameters, as cuDNN had it; a GRU computed by `anygru.functional`."""

import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from anygru import functional

from ..base import MXNetError
from ..state import state
from .elementwise import same_dtype
from .registry import operator, truth


def parameter_shapes(input_size: int, hidden: int, layers: int, directions: int) -> list[tuple[int, ...]]:
    """Shapes in the flat vector's order: every layer's and direction's two weights, then all their biases."""
    weights: list[tuple[int, ...]] = []
    for layer in range(layers):
        features = input_size if layer == 0 else hidden * directions
        weights += [(3 * hidden, features), (3 * hidden, hidden)] * directions
    return weights + [(3 * hidden,)] * (2 * layers * directions)


def in_torch_order(parameters: list[Tensor] | tuple[Tensor, ...]) -> list[Tensor]:
    """(weights of all layers, then biases of all layers) as weights and biases layer by layer, which anygru takes."""
    half = len(parameters) // 2
    ordered: list[Tensor] = []
    for at in range(0, half, 2):
        ordered += [parameters[at], parameters[at + 1], parameters[half + at], parameters[half + at + 1]]
    return ordered


def unpack(vector: Tensor, input_size: int, hidden: int, layers: int, directions: int) -> list[Tensor]:
    """Views of the flat vector, in the order that anygru takes.

    Raises:
        MXNetError: when the vector is of another length than the sizes say.
    """
    shapes = parameter_shapes(input_size, hidden, layers, directions)
    sizes = [torch.Size(s).numel() for s in shapes]
    if vector.numel() != sum(sizes):
        raise MXNetError(
            f"RNN: parameters must hold {sum(sizes)} numbers for input size {input_size}, state_size={hidden}, "
            f"num_layers={layers}, {directions} direction(s); got {vector.numel()}"
        )
    parts = vector.reshape(-1).split(sizes)
    return in_torch_order([part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)])


def only_gru(mode: str) -> None:
    """Refuse the other recurrent networks that MXNet's operator has.

    Raises:
        NotImplementedError: naming torch's layer.
    """
    if mode != "gru":
        torch_layer = {"lstm": "torch.nn.LSTM", "rnn_tanh": "torch.nn.RNN", "rnn_relu": "torch.nn.RNN"}.get(mode)
        if torch_layer is None:
            raise MXNetError(f"RNN: mode must be gru, lstm, rnn_tanh or rnn_relu, got {mode!r}")
        raise NotImplementedError(f"anygru covers the GRU only, not mode={mode!r}; in PyTorch: {torch_layer}")


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
        state_for_any: whether `initial` is of batch size 1 and stands for any: a graph's state of unknown size.
    """
    if not 0 <= dropout <= 1:
        raise MXNetError(f"RNN: p must be between 0 and 1, got {dropout}")
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
    dropout = dropout if state.training else 0.0
    if len(weights) == (8 if bidirectional else 4):
        dropout = 0.0  # there is nothing between layers where there is one
    if dropout and data.dtype == torch.float32 and data.device.type == "cpu":
        warnings.warn(
            f"MXNet's float32 GRU on the CPU ignores dropout in training, and so dropout={dropout} has no effect here; "
            "gluon.nn.Dropout between GRUs of one layer acts, and so does a float64 GRU",
            stacklevel=2,
        )
        dropout = 0.0
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


def _rnn_inputs(attributes: Mapping[str, Any]) -> list[str]:
    names = ["data", "parameters", "state"]
    if attributes.get("mode") == "lstm":
        names.append("state_cell")
    return names + (["sequence_length"] if truth(attributes.get("use_sequence_length", False)) else [])


def _rnn_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    data = shapes[0]
    if data is None or attributes.get("mode", "gru") != "gru":
        return shapes
    if len(data) != 3:
        raise MXNetError(f"RNN: data must be [T, N, C], got shape {data}")
    hidden, layers = int(attributes["state_size"]), int(attributes["num_layers"])
    directions = 2 if truth(attributes.get("bidirectional", False)) else 1
    numbers = sum(torch.Size(s).numel() for s in parameter_shapes(data[2], hidden, layers, directions))
    needed = [data, (numbers if data[2] else 0,), (layers * directions, data[1], hidden), (data[1],)]
    return needed[: len(shapes)]


@operator(
    "RNN",
    inputs=4,
    infer=_rnn_shapes,
    needs=_rnn_inputs,
    visible=lambda attributes: 2 if truth(attributes.get("state_outputs", False)) else 1,
    output_names=("output", "state_output"),
)
def _rnn(
    data: Tensor,
    parameters: Tensor,
    state: Tensor | None = None,
    sequence_length: Tensor | None = None,
    state_size: int | None = None,
    num_layers: int | None = None,
    bidirectional: bool = False,
    mode: str = "gru",
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    state_for_any: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    only_gru(mode)
    if state_size is None or num_layers is None:
        raise MXNetError("RNN: state_size and num_layers must be given")
    if projection_size:
        raise MXNetError("RNN: projection_size is for the LSTM only")
    directions = 2 if truth(bidirectional) else 1
    weights = unpack(parameters, data.shape[2], int(state_size), int(num_layers), directions)
    lengths = sequence_length if truth(use_sequence_length) else None
    output, last = run_gru(data, state, weights, directions == 2, float(p), lengths, state_for_any=state_for_any)
    return (output, last) if truth(state_outputs) else output
