"""Kinds of recurrent layers over packed rows: a GRU computes by `anygru.functional.gru`, LSTM and RNN by torch."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import PackedSequence

from anygru import functional
from anygru.extend import layer_of_torch

from ._rows import Tensor

Drop = Callable[[int, Tensor], Any] | None
"""Maps a layer's number and the output of the layer below to the input of each direction; None without dropout."""


class Kind(NamedTuple):
    """A kind of recurrent layer."""

    name: str
    n_gates: int
    n_states: int
    compute: Callable[..., tuple[Tensor, ...]]
    """Maps (packed rows, states, weights, bidirectional, drop) to the rows of the last layer and the final states."""
    by_torch: Callable[..., tuple[Tensor, ...]] | None = None
    """torch's function of all layers; None: anygru's."""
    recompute: Callable[..., tuple[Tensor, ...]] | None = None
    """Recomputes the layer when its gradient is differentiated; None: `compute`."""

    @property
    def n_weights(self) -> int:
        return 2 * self.n_gates


def _gru(
    packed: PackedSequence, states: Sequence[Tensor], weights: list[Tensor], bidirectional: bool, drop: Drop
) -> tuple[Tensor, ...]:
    output, h = functional.gru(packed, states[0], weights, bidirectional=bidirectional, dropout=drop or 0.0)
    return output.data, h


def _by_torch(layer_of: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """A kind's `compute` from torch's function of one layer."""

    def compute(
        packed: PackedSequence, states: Sequence[Tensor], weights: list[Tensor], bidirectional: bool, drop: Drop
    ) -> tuple[Tensor, ...]:
        directions = 2 if bidirectional else 1
        rows, finals = packed.data, []
        for layer in range(len(weights) // (4 * directions)):
            own = weights[4 * directions * layer : 4 * directions * (layer + 1)]
            cells = [state[directions * layer : directions * (layer + 1)] for state in states]
            if layer and drop is not None:
                inputs = drop(layer, rows)
                rows = torch.cat(inputs, 1)
                if bidirectional:  # each direction reads its own half
                    # torch's layer has one input for both, so that each matrix gets zeros for the other's half.
                    none = torch.zeros_like(own[0])
                    own = [torch.cat((own[0], none), 1), *own[1:4], torch.cat((none, own[4]), 1), *own[5:]]
            hidden = tuple(cells) if len(cells) > 1 else cells[0]
            rows, *final = layer_of(rows, packed.batch_sizes, hidden, own, True, 1, 0.0, False, bidirectional)
            finals.append(final)
        return rows, *[torch.cat(state) for state in zip(*finals, strict=True)]

    return compute


def _relu_layer(rows: Tensor, sizes: Tensor, hidden: Tensor, own: list[Tensor], *options: Any) -> tuple[Tensor, Tensor]:
    """`torch.rnn_relu` of one layer, by steps whose derivative depends on weights and states but not on the sums.

    A second gradient through torch's own is zero where Chainer has None (7.8.1, recorded), which an optimizer passes over.
    """
    steps = sizes.tolist()
    directions, finals = [], []
    for d, h in enumerate(hidden.unbind()):
        w, u, b, c = own[4 * d : 4 * d + 4]
        sums = list(torch.nn.functional.linear(rows, w, b + c).split(steps))
        start, h = h, h[: steps[-1]] if d else h
        ended = []
        for t in reversed(range(len(steps))) if d else range(len(steps)):
            if d:  # sequences begin at their own last step
                h = torch.cat((h, start[len(h) : steps[t]]))
            else:
                ended.append(h[steps[t] :])
                h = h[: steps[t]]
            total = sums[t] + h @ u.t()
            sums[t] = h = total * (total > 0)
        directions.append(torch.cat(sums))
        finals.append(torch.cat((h, *reversed(ended))))
    return torch.cat(directions, 1), torch.stack(finals)


GRU_KIND = Kind("GRU", 3, 1, _gru)
_OF_TORCH = {kind: layer_of_torch(kind) for kind in ("lstm", "rnn_tanh", "rnn_relu")}
LSTM_KIND = Kind("LSTM", 4, 2, _by_torch(_OF_TORCH["lstm"]), _OF_TORCH["lstm"])
TANH_KIND = Kind("RNNTanh", 1, 1, _by_torch(_OF_TORCH["rnn_tanh"]), _OF_TORCH["rnn_tanh"])
RELU_KIND = Kind("RNNReLU", 1, 1, _by_torch(_OF_TORCH["rnn_relu"]), _OF_TORCH["rnn_relu"], _by_torch(_relu_layer))
