"""Recurrent layers over whole sequences: GRUs computed by `anygru.functional.gru`, the others by torch.

Chainer's matrices of a layer are first those on the input, then those on the state. A GRU's are `w0 w1 w2` and `w3 w4 w5`,
each in the order reset, update, candidate, and its reset gate acts after the product with the state. An LSTM's are `w0` to
`w3` and `w4` to `w7` in the order input, forget, candidate, output: so Chainer 7.8.1 computes (`n_step_lstm`, recorded),
though its documentation has the last two the other way round.
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
from ..utils import argument, type_check
from ._checks import Type, expect
from ._longest_first import longest_first
from ._rows import Tensor
from .lstms import _lstm as _lstm  # in Chainer beside `n_step_lstm`, where public programs take it from
from .stochastic import check_ratio, dropout_mask

__all__ = ["n_step_bigru", "n_step_bilstm", "n_step_birnn", "n_step_gru", "n_step_lstm", "n_step_rnn"]

Drop = Callable[[int, Tensor], Any] | None
"""What each direction of a layer reads, from the layer's number and the output of the layer below; None without dropout."""


class Kind(NamedTuple):
    """A kind of recurrent layer."""

    name: str
    n_gates: int
    n_states: int
    compute: Callable[..., tuple[Tensor, ...]]
    """Of (packed rows, states, weights, bidirectional, drop) the rows of the last layer and the final states."""
    by_torch: Callable[..., tuple[Tensor, ...]] | None = None
    """torch's function of all layers; None: anygru's."""
    recompute: Callable[..., tuple[Tensor, ...]] | None = None
    """What computes again for a gradient that is differentiated itself; None: `compute`."""

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


class Stack(NamedTuple):
    """Stacked layers, without their weights."""

    kind: Kind
    n_layers: int
    dropout: float
    """The probability of dropping values between one layer and the next, while training."""
    bidirectional: bool
    time_major: bool
    """Whether the data are time steps [B_t, I]; otherwise they are sequences [L_b, I] in any order."""

    @property
    def cells(self) -> int:
        """The number of layers, times that of directions."""
        return self.n_layers * (2 if self.bidirectional else 1)


class NStepRNN(TorchFunction):
    """The node of stacked layers: its inputs are the states, weights and biases of each layer and direction, and the data."""

    def __init__(self, stack: Stack) -> None:
        kind, self.n_layers, dropout, self.bidirectional, self.time_major = stack
        self.kind = kind
        self.dropout = dropout if config.train else 0.0
        self._cells = stack.cells
        end = kind.n_states + 4 * kind.n_gates * self._cells
        self._states, self._weights, self._xs = slice(kind.n_states), slice(kind.n_states, end), slice(end, None)
        self._masks: dict[int, list[Tensor]] = {}
        self._joined: list[Tensor] | None = None

    @property
    def label(self) -> str:
        return f"NStep{'Bi' if self.bidirectional else ''}{self.kind.name}"

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
        states = self._initial(inputs[self._states], len(xs[0]) if self.time_major else len(xs))
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
        """The sequences as one padded batch; without anygru's operator, which knows lengths, one by one."""
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
        """The initial states of the cells, which must be there for all sequences (IndexError, InvalidType).

        The errors are those of Chainer 7.8.1's slices and sums, recorded. Of time steps Chainer takes one row of hx for
        all sequences of a layer that has no cells beside the state.
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
    for cell in range(stack.cells):
        parameters += [*ws[cell][:n], *bs[cell][:n]]
    for i, x in enumerate(xs):
        if len(getattr(x, "shape", (0, 0))) < 2:
            raise IndexError(f"xs[{i}] must be [L, I] with I = {parameters[0].shape[1]}, got {tuple(x.shape)}")
        if not stack.time_major and len(x) == 0:
            raise IndexError(f"xs[{i}] must have at least one step, got {tuple(x.shape)}; leave such sequences out")
    if stack.n_layers > 1 and config.train:
        check_ratio(stack.dropout)
        if stack.dropout == 0:
            directions = 2 if stack.bidirectional else 1
            _draw_unused(sum(len(x) for x in xs) * states[0].shape[2] * directions**2, stack.n_layers - 1)
    outputs = NStepRNN(stack).apply((*states, *parameters, *xs))
    return *outputs[: kind.n_states], tuple(outputs[kind.n_states :])


def _draw_unused(size: int, times: int) -> None:
    """Draw the masks that Chainer draws even where nothing is dropped, so that a seed goes on as it does there."""
    for _ in range(times):
        numpy.random.rand(size)


_STATES = {1: "hx", 2: "hx and cx"}


def _n_step(name: str, kinds: dict[str, Kind], both: bool | None) -> Callable[..., tuple[Any, ...]]:
    """A function over time steps; `both` says whether it runs in both directions, None that the caller does."""
    n_states = next(iter(kinds.values())).n_states

    def call(n_layers: int, dropout_ratio: float, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        names = ["hx", "cx"][:n_states] + ["ws", "bs", "xs"] + (["use_bi_direction"] if both is None else [])
        given = dict(zip(names, args, strict=False)) | {key: kwargs.pop(key) for key in names if key in kwargs}
        if len(given) < len(names):
            raise TypeError(f"{name} needs the arguments n_layers, dropout_ratio, {', '.join(names)}")
        activation = kwargs.pop("activation", args[len(names)] if len(args) > len(names) else "tanh")
        argument.check_unexpected_kwargs(
            kwargs,
            train="train argument is not supported anymore. Use chainer.using_config",
            use_cudnn="use_cudnn argument is not supported anymore. Use chainer.using_config",
        )
        argument.assert_kwargs_empty(kwargs)
        if len(kinds) > 1 and activation not in kinds:
            raise ValueError(f'Invalid activation: "{activation}". Please select from [{",".join(kinds)}]')
        states, xs = [given[key] for key in names[:n_states]], given["xs"]
        bidirectional = bool(given.get("use_bi_direction", both))
        kind = kinds[activation] if len(kinds) > 1 else next(iter(kinds.values()))
        stack = Stack(kind, n_layers, dropout_ratio, bidirectional, time_major=True)
        return run(stack, states, given["ws"], given["bs"], xs)

    directions = " in both directions" if both else ""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""Stacked {next(iter(kinds.values())).name} layers over time steps{directions}.

    Called as `{name}(n_layers, dropout_ratio, {", ".join(["hx", "cx"][:n_states])}, ws, bs, xs)`.

    Args:
        n_layers: S, number of layers.
        dropout_ratio: probability of dropping what goes from one layer to the next, when `config.train`.
        {_STATES[n_states]}: initial states [S, B, N]; in both directions [2S, B, N], forward and backward in turn.
        ws: for each layer and direction its matrices, first those on the input, then those on the state.
        bs: for each layer and direction its biases [N].
        xs: time steps [B_t, I], B_t not increasing.

    Returns:
        The states after each sequence's last step, in the shape of {_STATES[n_states]}, and ys, the last layer's states at
        each step [B_t, N] (in both directions [B_t, 2N]).

    Raises:
        InvalidType: sizes or dtypes do not fit. ValueError: a keyword of an earlier release.
    """
    return call


_RNNS = {"tanh": TANH_KIND, "relu": RELU_KIND}
n_step_gru = _n_step("n_step_gru", {"gru": GRU_KIND}, False)
n_step_bigru = _n_step("n_step_bigru", {"gru": GRU_KIND}, True)
n_step_gru_base = _n_step("n_step_gru_base", {"gru": GRU_KIND}, None)
n_step_lstm = _n_step("n_step_lstm", {"lstm": LSTM_KIND}, False)
n_step_bilstm = _n_step("n_step_bilstm", {"lstm": LSTM_KIND}, True)
n_step_lstm_base = _n_step("n_step_lstm_base", {"lstm": LSTM_KIND}, None)
n_step_rnn = _n_step("n_step_rnn", _RNNS, False)
n_step_birnn = _n_step("n_step_birnn", _RNNS, True)
n_step_rnn_base = _n_step("n_step_rnn_base", _RNNS, None)
