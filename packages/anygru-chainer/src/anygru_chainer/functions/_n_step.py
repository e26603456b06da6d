"""The node of stacked recurrent layers of any kind over whole sequences, and its call.

A GRU computes by `anygru.functional.gru`, LSTM and RNN by torch, all over packed rows.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch.nn.utils.rnn import PackedSequence

from anygru import functional
from anygru.extend import layer_of_torch

from .._torch_function import TorchFunction
from ..configuration import config
from ..types import VariableLike
from ..utils import type_check
from ._rows import Tensor, Type, expect
from .stochastic import check_ratio, dropout_mask

_SMALL = 16  # up to this size a part is sorted by insertion, which keeps the order of equal lengths


def longest_first(lengths: Sequence[int]) -> list[int]:
    """The indices that sort the lengths in falling order, as NumPy sorted them when Chainer was written.

    That was a quicksort, which does not keep equal lengths in their order; NumPy's own order now depends on the
    processor. Each part of more than 16 indices is split around the median of its first, middle and last length.
    """
    order, keys = list(range(len(lengths))), [-length for length in lengths]
    parts = [(0, len(order) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < _SMALL:
            order[first : last + 1] = sorted(order[first : last + 1], key=keys.__getitem__)
        else:
            middle = _partition(order, keys, first, last)
            parts += [(first, middle - 1), (middle + 1, last)]
    return order


def _partition(order: list[int], keys: list[int], first: int, last: int) -> int:
    """Partition around the median of three: smaller items before it, larger ones behind. Returns the median's index."""

    def swap(i: int, j: int) -> None:
        order[i], order[j] = order[j], order[i]

    middle = first + (last - first) // 2
    for low, high in ((first, middle), (middle, last), (first, middle)):
        if keys[order[high]] < keys[order[low]]:
            swap(low, high)
    median = keys[order[middle]]
    left, right = first, last - 1
    swap(middle, right)
    while True:
        left += 1
        while keys[order[left]] < median:
            left += 1
        right -= 1
        while median < keys[order[right]]:
            right -= 1
        if left >= right:
            break
        swap(left, right)
    swap(left, last - 1)
    return left


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
                    # torch's layer has one input for both directions, so each matrix has zeros for the half that it
                    # does not read.
                    none = torch.zeros_like(own[0])
                    own = [torch.cat((own[0], none), 1), *own[1:4], torch.cat((none, own[4]), 1), *own[5:]]
            hidden = tuple(cells) if len(cells) > 1 else cells[0]
            rows, *final = layer_of(rows, packed.batch_sizes, hidden, own, True, 1, 0.0, False, bidirectional)
            finals.append(final)
        return rows, *[torch.cat(state) for state in zip(*finals, strict=True)]

    return compute


def _relu_layer(rows: Tensor, sizes: Tensor, hidden: Tensor, own: list[Tensor], *options: Any) -> tuple[Tensor, Tensor]:
    """`torch.rnn_relu` of one layer, by steps with a derivative that depends on weights and states but not on the sums.

    torch's function has a zero second gradient where Chainer has None (7.8.1, recorded), and an optimizer skips None.
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


class Stack(NamedTuple):
    """Stacked layers, without their weights."""

    kind: Kind
    n_layers: int
    dropout: float
    """The probability of dropping values between one layer and the next, while training."""
    bidirectional: bool
    time_major: bool
    """Whether the data are time steps [B_t, I]; otherwise they are sequences [L_b, I] in any order."""


class NStepRNN(TorchFunction):
    """The node of stacked layers: its inputs are the states, weights and biases of each layer and direction, and the data."""

    def __init__(self, stack: Stack) -> None:
        kind, self.n_layers, dropout, self.bidirectional, self.time_major = stack
        self.kind = kind
        self.dropout = dropout if config.train else 0.0
        self._cells = self.n_layers * (2 if self.bidirectional else 1)
        end = kind.n_states + 4 * kind.n_gates * self._cells
        self._states, self._weights, self._xs = slice(kind.n_states), slice(kind.n_states, end), slice(end, None)
        self._masks: dict[int, list[Tensor]] = {}
        self._joined: list[Tensor] | None = None

    label = property(lambda self: f"NStep{'Bi' if self.bidirectional else ''}{self.kind.name}")

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        states, ws, xs = arrays[self._states], arrays[self._weights], arrays[self._xs]
        dtype, (n_units, n_inputs) = ws[0].dtype, ws[0].shape
        for h in states:
            if h.ndim != 3 or h.dtype != dtype or h.shape[2] != n_units:
                return False
        rows = math.inf
        for x in xs:
            if x.ndim != 2 or x.dtype != dtype or x.shape[1] != n_inputs or (self.time_major and len(x) > rows):
                return False
            rows = len(x)
        return bool(dtype.kind == "f")

    def check_type_forward(self, in_types: Sequence[Type]) -> None:
        states, ws, xs = in_types[self._states], in_types[self._weights], in_types[self._xs]
        type_check._argname((*states, ws[0]), (*("hx", "cx")[: len(states)], "w0"))
        for h in states:
            expect(h.ndim == 3, h.dtype == ws[0].dtype, h.shape[2] == ws[self.kind.n_weights // 2].shape[1])
        for i, x in enumerate(xs):
            type_check._argname((x,), (f"xs[{i}]",))
            expect(x.dtype.kind == "f", x.dtype == ws[0].dtype, x.ndim >= 2)
            expect(type_check.prod(x.shape[1:]) == ws[0].shape[1])
        if self.time_major:
            for x, following in zip(xs, xs[1:], strict=False):
                expect(x.shape[0] >= following.shape[0])

    def compute(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        xs = []
        for x in inputs[self._xs]:
            xs.append(x if x.ndim == 2 else x.flatten(1))
        states: Sequence[Tensor] = inputs[self._states]
        batch = len(xs[0]) if self.time_major else len(xs)
        if len(states) > 1 or states[0].shape[:2] != (self._cells, batch):
            states = self._initial(states, batch)
        weights = self._stacked(inputs[self._weights])
        drop = self._drop if self.n_layers > 1 and self.dropout > 0 else None
        compute = (self._results and self.kind.recompute) or self.kind.compute
        if self.kind is GRU_KIND and drop is None and not self.time_major:
            ys, hy = functional.gru(xs, states[0][:, : len(xs)], weights, bidirectional=self.bidirectional)
            return hy, *ys
        if self.time_major:
            sizes = [len(x) for x in xs]
            packed = PackedSequence(torch.cat(xs), torch.tensor(sizes))
            ended = [state[:, sizes[0] :] for state in states]  # sequences without a step keep their state
            states = [state[:, : sizes[0]] for state in states]
            rows, *finals = compute(packed, states, weights, self.bidirectional, drop)
            return *[torch.cat(pair, 1) for pair in zip(finals, ended, strict=True)], *rows.split(sizes)
        # Chainer sorts the sequences before it draws masks for their steps.
        order = longest_first([len(x) for x in xs])
        packed = torch.nn.utils.rnn.pack_sequence([xs[b] for b in order])
        states = [state[:, order] for state in states]
        rows, *finals = compute(packed, states, weights, self.bidirectional, drop)
        inverse = [order.index(b) for b in range(len(order))]
        unpacked = torch.nn.utils.rnn.unpack_sequence(PackedSequence(rows, packed.batch_sizes))
        return *[state[:, inverse] for state in finals], *[unpacked[b] for b in inverse]

    def compute_in_graph(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The sequences as one padded batch for anygru's operator; torch's operators take no lengths and compute
        sequence by sequence."""
        xs = [x.flatten(1) for x in inputs[self._xs]]
        sizes = [len(x) for x in xs]
        lengths = [sum(size > b for size in sizes) for b in range(sizes[0])] if self.time_major else sizes
        padded = torch.nn.utils.rnn.pad_sequence(xs, batch_first=self.time_major)  # [T, B, I]
        states = [state[:, : len(lengths)] for state in self._initial(inputs[self._states], len(lengths))]
        weights = self._stacked(inputs[self._weights], of_forward=False)
        if self.kind.by_torch is None:
            ragged = None if min(lengths) == max(lengths) else torch.tensor(lengths)
            output, *finals = functional.gru(
                padded, states[0], weights, lengths=ragged, bidirectional=self.bidirectional
            )
            each = [output[:length, b] for b, length in enumerate(lengths)]
        else:
            each, ends = [], []
            for b, length in enumerate(lengths):
                own = [state[:, b, None] for state in states]
                start = own[0] if len(own) == 1 else own
                rows, *end = self.kind.by_torch(
                    padded[:length, b, None], start, weights, True, self.n_layers, 0.0, False, self.bidirectional, False
                )
                each.append(rows[:, 0])
                ends.append(end)
            finals = [torch.cat(state, 1) for state in zip(*ends, strict=True)]
        if not self.time_major:
            return *finals, *each
        whole = torch.nn.utils.rnn.pad_sequence(each)
        return *finals, *[whole[t, :size] for t, size in enumerate(sizes)]

    def _initial(self, states: Sequence[Tensor], batch: int) -> list[Tensor]:
        """The initial states of the cells, checked for all sequences (IndexError, InvalidType).

        The errors are recorded from Chainer 7.8.1's slices and sums. For time steps of a layer without cells, Chainer
        uses one row of hx for all sequences.
        """
        cells, found = self._cells, []
        for name, state in zip(("hx", "cx"), states, strict=False):
            if state.shape[0] >= cells and state.shape[1] >= batch:
                found.append(state[:cells])
            elif self.time_major and state.shape[0] >= cells and state.shape[1] == 1 and len(states) == 1:
                found.append(state[:cells].expand(-1, batch, -1))
            else:
                message = f"{name} must be [S, B, N] with S = {cells} (layers times directions) and B = {batch}"
                if state.shape[0] < cells or not self.time_major:
                    raise IndexError(f"{message}, got {tuple(state.shape)}")
                raise type_check.InvalidType(message, f"{tuple(state.shape)}")
        return found

    def _stacked(self, parts: Sequence[Tensor], of_forward: bool = True) -> list[Tensor]:
        """weight_ih, weight_hh, bias_ih and bias_hh of each layer and direction, with the values of the forward pass or now.

        Chainer joins the gates' matrices, which copies them, so that a graph that is kept over an update has the old
        ones (7.8.1, `n_step_rnn.py`, recorded). The matrices of layers without gates are not joined.
        """
        n = self.kind.n_gates
        if n == 1:
            return list(parts)
        joined = []
        for start in range(0, len(parts), n):
            joined.append(torch.cat(tuple(parts[start : start + n])))
        if not of_forward:
            return joined
        if self._joined is None:
            self._joined = list(map(torch.Tensor.detach, joined)) if torch.is_grad_enabled() else None
            return joined
        return [old + (new - new.detach()) for old, new in zip(self._joined, joined, strict=True)]

    def _drop(self, layer: int, rows: Tensor) -> tuple[Tensor, ...]:
        """The inputs of each direction of a layer, with masks in the order in which Chainer draws them."""
        if layer not in self._masks:
            self._masks[layer] = [_mask_like(rows, self.dropout) for _ in range(2 if self.bidirectional else 1)]
        return tuple([rows * mask for mask in self._masks[layer]])


def _mask_like(rows: Tensor, ratio: float) -> Tensor:
    dtype = rows.new_empty(0, device="cpu").numpy().dtype
    return torch.from_numpy(dropout_mask(tuple(rows.shape), dtype, ratio)).to(rows.device)


def run(stack: Stack, states: Sequence[Any], ws: Any, bs: Any, xs: VariableLike) -> tuple[Any, ...]:
    """The final states (hy, or hy and cy) and the tuple ys of stacked layers; see `Stack` and `n_step_gru`."""
    kind, n = stack.kind, 2 * stack.kind.n_gates
    parameters: list[Any] = []
    for cell in range(stack.n_layers * (2 if stack.bidirectional else 1)):
        parameters += [*ws[cell][:n], *bs[cell][:n]]
    if len(xs) == 0:
        raise IndexError("xs must have at least one sequence, got none")
    for i, x in enumerate(xs):
        if len(getattr(x, "shape", (0, 0))) < 2:
            raise IndexError(f"xs[{i}] must be [L, I] with I = {parameters[0].shape[1]}, got {tuple(x.shape)}")
        if not stack.time_major and len(x) == 0:
            raise IndexError(f"xs[{i}] must have at least one step, got {tuple(x.shape)}; leave such sequences out")
    if stack.n_layers > 1 and config.train:
        check_ratio(stack.dropout)
    outputs = NStepRNN(stack).apply((*states, *parameters, *xs))
    # After the computation, because Chainer draws nothing for a wrong batch (7.8.1, observed).
    if stack.n_layers > 1 and config.train and stack.dropout == 0:
        directions = 2 if stack.bidirectional else 1
        _draw_unused(sum(len(x) for x in xs) * states[0].shape[2] * directions**2, stack.n_layers - 1)
    return *outputs[: kind.n_states], tuple(outputs[kind.n_states :])


def _draw_unused(size: int, times: int) -> None:
    """Draw the masks that Chainer draws even at a ratio of 0, so that later random numbers are Chainer's."""
    for _ in range(times):
        numpy.random.rand(size)
