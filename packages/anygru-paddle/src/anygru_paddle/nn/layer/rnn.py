"""The recurrent layers of Paddle 2. Every GRU is computed by `anygru.functional`, LSTM and SimpleRNN by torch."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from anygru import functional, layers
from anygru.extend import Weights, layer_of_torch

from ...base.arguments import initializer
from ...framework.dtype import single
from ...tensor.operation import core_call, need_tensor, operation, wrap
from ...tensor.tensor import Tensor, plain
from ..functional.common import draw_kept
from .cells import Attr, Cell, GRUCell, LSTMCell, SimpleRNNCell, need_dtype, shared
from .container import LayerList
from .layers import Layer
from .sequence import Nested, RNNCellBase, birnn, checked_lengths, rnn

__all__ = [
    "GRU", "LSTM", "RNN", "BiRNN", "GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNN", "SimpleRNNCell",
]  # fmt: skip

Attributes = tuple[Attr, Attr, Attr, Attr]
States = tuple[torch.Tensor, ...]
_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]


class RNN(Layer):
    """A cell along a sequence.

    Args:
        cell: a `GRUCell` or any cell of the user's.
        is_reverse: begin at the last step.
        time_major: input and output are [T, B, ...] instead of [B, T, ...].
    """

    def __init__(self, cell: Layer, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(
        self, inputs: Nested, initial_states: Nested = None, sequence_length: torch.Tensor | None = None, **kwargs: Any
    ) -> tuple[Nested, Nested]:
        """All outputs and the last state; see `rnn`."""
        return rnn(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, **kwargs)


class BiRNN(Layer):
    """Two cells along a sequence in opposite directions.

    Args:
        cell_fw, cell_bw: the cells, of the same input size.
        time_major: input and output are [T, B, ...] instead of [B, T, ...].

    Raises:
        ValueError: if the cells' input sizes differ.
    """

    def __init__(self, cell_fw: Layer, cell_bw: Layer, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw = cell_fw
        self.cell_bw = cell_bw
        sizes = getattr(cell_fw, "input_size", None), getattr(cell_bw, "input_size", None)
        if None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(
                f"input size of forward cell({sizes[0]}) does not equals that of backward cell({sizes[1]})"
            )
        self.time_major = time_major

    def forward(
        self, inputs: Nested, initial_states: Nested = None, sequence_length: torch.Tensor | None = None, **kwargs: Any
    ) -> tuple[Nested, Nested]:
        """All outputs, joined, and the two last states; see `birnn`."""
        return birnn(self.cell_fw, self.cell_bw, inputs, initial_states, sequence_length, self.time_major, **kwargs)


class RNNBase(LayerList):
    """The base of the three layers: cells under `RNN` and `BiRNN`, the names of parameters, states and dropout.

    Args:
        mode: 'GRU', 'LSTM', 'RNN_TANH' or 'RNN_RELU'.
        input_size, ..., bias_hh_attr: as of `GRU`.
    """

    state_components = 1

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Attr = None,
        weight_hh_attr: Attr = None,
        bias_ih_attr: Attr = None,
        bias_hh_attr: Attr = None,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError(
                f"direction should be forward or bidirect (or bidirectional), received direction = {direction}"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.num_directions = 1 if direction == "forward" else 2
        self.time_major = time_major
        self.dropout = dropout
        attributes = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        for layer in range(max(1, num_layers)):  # 0 layers are 1, too (recorded, 2.6.2)
            width = input_size if layer == 0 else hidden_size * self.num_directions
            cells = [self._cell(width, attributes) for _ in range(self.num_directions)]
            self.append(RNN(cells[0], False, time_major) if len(cells) == 1 else BiRNN(cells[0], cells[1], time_major))
            self._name_parameters(layer, cells, bias_ih_attr is not False, bias_hh_attr is not False)
        # Paddle's own dropout state: never used on a CPU, but `named_buffers` and `to_static_state_dict` show it.
        self._dropout_state = self.create_variable("dropout_state__non_persistable", dtype="uint8")

    def _cell(self, width: int, attributes: Attributes) -> Cell:
        """A cell for inputs of `width` features."""
        raise NotImplementedError

    def _run(
        self, cells: list[Cell], x: torch.Tensor, states: States | None, lengths: torch.Tensor | None
    ) -> tuple[torch.Tensor, States]:
        """The output and the last states of these cells, all layers at once, without dropout."""
        raise NotImplementedError

    def _name_parameters(self, layer: int, cells: Sequence[Cell], bias_ih: bool, bias_hh: bool) -> None:
        """Offer the cells' parameters as weight_ih_l0, weight_hh_l0, ..., bias_hh_l0_reverse as well."""
        kept = ("weight_ih", "weight_hh", *(("bias_ih",) if bias_ih else ()), *(("bias_hh",) if bias_hh else ()))
        for cell, suffix in zip(cells, ("", "_reverse"), strict=False):
            for name in kept:
                setattr(self, f"{name}_l{layer}{suffix}", getattr(cell, name))

    def _cells(self) -> list[Cell]:
        cells: list[Cell] = []
        for each in self._modules.values():
            cells += each._modules.values()  # type: ignore[arg-type, union-attr]
        return cells

    def forward(
        self, inputs: torch.Tensor, initial_states: Nested = None, sequence_length: torch.Tensor | None = None
    ) -> tuple[Tensor, Nested]:
        """Run over a batch of sequences.

        Args:
            inputs: [B, T, I], or [T, B, I] if `time_major`.
            initial_states: [L * D, B, H], for an LSTM a pair of them; zeros without it.
            sequence_length: steps of each sequence, int32 or int64 [B] or [B, 1]; the output past them is zero.

        Returns:
            The output [B, T, D * H] (or time first), and the state of each layer and direction after the last step of
            each sequence, [L * D, B, H], for an LSTM a pair of them.

        Raises:
            ValueError: for shapes or dtypes that do not fit.
        """
        need_tensor(inputs, "x", "rnn")
        if inputs.ndim != 3:
            raise ValueError(f"(InvalidArgument) rnn(): inputs must have 3 axes, got shape {list(inputs.shape)}")
        cells = self._cells()
        x = plain(inputs)
        need_dtype(x, cells[0].weight_ih, "rnn(): inputs")
        batch = x.shape[1 if self.time_major else 0]
        lengths = checked_lengths(sequence_length, batch, columns=True)
        states = None if initial_states is None else self._checked_states(initial_states, x, [len(cells), batch])
        drops = self.training and self.dropout > 0 and len(cells) > self.num_directions
        output, last = (self._dropping if drops else self._run)(cells, x, states, lengths)
        return wrap(output), wrap(last[0]) if len(last) == 1 else tuple(wrap(each) for each in last)

    def _dropping(
        self, cells: list[Cell], x: torch.Tensor, states: States | None, lengths: torch.Tensor | None
    ) -> tuple[torch.Tensor, States]:
        """As `_run`, with dropout between the layers: one mask for all, drawn time first, as in Paddle 2.6.2 (recorded)."""
        wide = self.num_directions
        batch, steps = (x.shape[1], x.shape[0]) if self.time_major else (x.shape[0], x.shape[1])
        probability = float(self.dropout)
        mask = draw_kept([steps, batch, wide * self.hidden_size], probability, x).to(_torch_dtype(x))
        mask = mask if self.time_major else mask.transpose(0, 1)
        last = []
        for first in range(0, len(cells), wide):
            if first:
                # The probability is a float32 attribute of Paddle's kernel.
                x = x * mask / single(1 - single(probability)) if probability < 1 else x * 0
            own = None if states is None else tuple(each[first : first + wide] for each in states)
            x, ends = self._run(cells[first : first + wide], x, own, lengths)
            last.append(ends)
        return x, tuple(torch.cat(each) for each in zip(*last, strict=True))

    def _checked_states(self, states: Nested, x: torch.Tensor, sizes: list[int]) -> States:
        given = [states] if isinstance(states, torch.Tensor) else list(states)
        if len(given) != self.state_components:
            raise ValueError(f"rnn(): initial_states must hold {self.state_components} tensors, got {len(given)}")
        for state in given:
            need_tensor(state, "initial_states", "rnn")
            if list(state.shape) != [*sizes, self.hidden_size]:
                raise ValueError(
                    f"(InvalidArgument) rnn(): initial_states must be {[*sizes, self.hidden_size]}, got {list(state.shape)}"
                )
            need_dtype(state, x, "rnn(): initial_states")
        return tuple(plain(state) for state in given)

    def flatten_parameters(self) -> None:
        """Nothing to do: the parameters are used where they are."""

    def extra_repr(self) -> str:
        """The sizes and the options that differ from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major is not False:
            text += f", time_major={self.time_major}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        return text


class _ByTorch(RNNBase):
    """SimpleRNN and LSTM, by torch's kernels."""

    def _run(
        self, cells: list[Cell], x: torch.Tensor, states: States | None, lengths: torch.Tensor | None
    ) -> tuple[torch.Tensor, States]:
        weights = [each for cell in cells for each in cell.weights]
        kernel = layer_of_torch(self.mode.lower())
        time = 0 if self.time_major else 1
        if lengths is not None and bool(torch.any(torch.eq(lengths, 0))):  # which torch's packing refuses
            return self._run_of_some(cells, x, states, lengths)
        if states is None:
            states = (x.new_zeros(len(cells), x.shape[1 - time], self.hidden_size),) * self.state_components
        hidden = states if self.state_components > 1 else states[0]
        options = (True, len(cells) // self.num_directions, 0.0, False, self.num_directions == 2)
        if lengths is None:
            output, *last = operation(kernel)(x, hidden, weights, *options, not self.time_major)
            return output, tuple(last)
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), not self.time_major, enforce_sorted=False)
        ordered = tuple(each.index_select(1, packed.sorted_indices) for each in states)  # type: ignore[arg-type]
        hidden = ordered if self.state_components > 1 else ordered[0]
        output, *last = operation(kernel)(packed.data, packed.batch_sizes, hidden, weights, *options)
        packed = packed._replace(data=plain(output))
        output, _ = torch.nn.utils.rnn.pad_packed_sequence(packed, not self.time_major, total_length=x.shape[time])
        return output, tuple(plain(each).index_select(1, packed.unsorted_indices) for each in last)  # type: ignore[arg-type]

    def _run_of_some(
        self, cells: list[Cell], x: torch.Tensor, states: States | None, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, States]:
        """As `_run` for the sequences that have steps; the output of the others is zeros, and their states stay."""
        batch = 1 if self.time_major else 0
        kept = torch.gt(plain(lengths), 0).nonzero().squeeze(1).to(x.device)
        sizes = (len(cells), x.shape[batch], self.hidden_size)
        states = tuple(plain(each) for each in states) if states else (x.new_zeros(sizes),) * self.state_components
        output = x.new_zeros(*x.shape[:2], self.num_directions * self.hidden_size)
        if len(kept) == 0:  # a gradient of zeros
            nothing = sum((each.sum() * 0 for cell in cells for each in cell.weights), x.sum() * 0)
            return output + nothing, tuple(each + nothing for each in states)
        own = tuple(each.index_select(1, kept) for each in states)
        part, last = self._run(cells, x.index_select(batch, kept), own, plain(lengths).index_select(0, kept))
        ends = tuple(each.index_copy(1, kept, plain(end)) for each, end in zip(states, last, strict=True))
        return output.index_copy(batch, kept, plain(part)), ends


_SIZES: dict[str, Any] = {
    "input_size": ..., "hidden_size": ..., "num_layers": 1, "direction": "forward", "time_major": False, "dropout": 0.0,
}  # fmt: skip
_ATTRIBUTES: dict[str, Any] = dict.fromkeys(
    ("weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr", "name")
)


def _constructor(mode: str) -> Callable[..., None]:
    """The `__init__` of GRU and LSTM."""

    def build(self: RNNBase, given: SimpleNamespace) -> None:
        *values, _ = vars(given).values()
        RNNBase.__init__(self, mode, *values)

    return initializer(build, **_SIZES, **_ATTRIBUTES)


class SimpleRNN(_ByTorch):
    """An Elman network of one or more layers, in one or both directions.

    Args:
        input_size, ..., name: as of `GRU`.
        activation: 'tanh' or 'relu'.

    Raises:
        ValueError: for another activation or direction.
    """

    def _take(self, given: SimpleNamespace) -> None:
        activation = vars(given).pop("activation")
        if activation not in ("tanh", "relu"):
            raise ValueError(f"Unknown activation '{activation}'")
        object.__setattr__(self, "activation", activation)
        *values, _ = vars(given).values()
        RNNBase.__init__(self, f"RNN_{activation.upper()}", *values)

    __init__ = initializer(_take, **_SIZES, activation="tanh", **_ATTRIBUTES)
    activation: str

    def _cell(self, width: int, attributes: Attributes) -> Cell:
        return SimpleRNNCell(width, self.hidden_size, self.activation, *attributes)


class LSTM(_ByTorch):
    """An LSTM of one or more layers, in one or both directions. Arguments as of `GRU`; the states are pairs (h, c)."""

    state_components = 2

    __init__ = _constructor("LSTM")

    def _cell(self, width: int, attributes: Attributes) -> Cell:
        return LSTMCell(width, self.hidden_size, *attributes)


class GRU(RNNBase):
    """A GRU of one or more layers, in one or both directions.

    Args:
        input_size: features of the input.
        hidden_size: hidden size H of one direction.
        num_layers: layers on top of one another.
        direction: 'forward', or 'bidirect' / 'bidirectional'.
        time_major: input and output are [T, B, ...] instead of [B, T, ...].
        dropout: probability of dropping an element between layers in training.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: as of `GRUCell`.
        name: kept for scripts.

    Raises:
        ValueError: for another direction.
    """

    __init__ = _constructor("GRU")

    def _cell(self, width: int, attributes: Attributes) -> Cell:
        return GRUCell(width, self.hidden_size, *attributes)

    def _run(
        self, cells: list[Cell], x: torch.Tensor, states: States | None, lengths: torch.Tensor | None
    ) -> tuple[torch.Tensor, States]:
        weights = [each for cell in cells for each in cell.weights]
        output, h_n = core_call(
            functional.gru, x, None if states is None else states[0], weights, lengths=lengths,
            batch_first=not self.time_major, bidirectional=self.num_directions == 2,
        )  # fmt: skip
        return output, (h_n,)

    def __to_anygru__(self) -> layers.GRU:
        """An `anygru.GRU` that shares the parameters' memory."""
        weights = Weights.of(shared(self._cells()), self.num_directions == 2)
        layer = layers.GRU.around(weights, batch_first=not self.time_major, dropout=float(self.dropout))
        return layer.train(self.training)
