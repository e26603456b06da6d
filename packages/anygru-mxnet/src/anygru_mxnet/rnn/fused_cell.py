"""`mx.rnn.FusedRNNCell`: all layers of a recurrent network as one operator with one vector of parameters."""

import warnings
from functools import partial
from typing import Any, NoReturn

from .. import symbol
from ..gluon.rnn.sequences import Sequence, Steps
from ..initializer import FusedRNN
from ..ndarray import concatenate
from ..operators.recurrent import GATE_NAMES, GATES, input_size_of, parameter_parts
from ..symbol.symbol import Symbol
from .base_cell import Arrays, BaseRNNCell, RNNParams, in_form, merged
from .combined_cells import BidirectionalCell, SequentialRNNCell
from .gated_cells import GRUCell, LSTMCell, RNNCell
from .modifier_cells import DropoutCell

__all__ = ["FusedRNNCell"]

_UNFUSED: dict[str, Any] = {
    "rnn_relu": partial(RNNCell, activation="relu"),
    "rnn_tanh": partial(RNNCell, activation="tanh"),
    "lstm": LSTMCell,
    "gru": GRUCell,
}


class FusedRNNCell(BaseRNNCell):
    """A recurrent network of several layers. Only `unroll` runs it.

    Args:
        num_hidden: hidden size.
        num_layers: number of layers.
        mode: "gru", "lstm", "rnn_tanh" or "rnn_relu".
        bidirectional: whether each layer has a second direction.
        dropout: probability of zeroing an input of the second and later layers in training.
        get_next_state: whether `unroll` returns the last states; otherwise it returns an empty list.
        forget_bias: the first value of an LSTM's forget gates' biases.
        prefix, params: as for `BaseRNNCell`; the prefix is the mode and "_" by default.
    """

    _steps = False

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._gate_names = GATE_NAMES[mode]
        self._sizes = (num_hidden, num_layers, 2 if bidirectional else 1, mode)
        first = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self._params.get("parameters", init=first)
        self._joined = self._parameter.list_inputs()[0]

    @property
    def state_info(self) -> list[dict[str, Any]]:
        hidden, layers, directions, mode = self._sizes
        states = 2 if mode == "lstm" else 1
        return [{"shape": (layers * directions, 0, hidden), "__layout__": "LNC"} for _ in range(states)]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """Split the vector in a dict of arrays into a weight for each gate, layer and direction."""
        args = dict(args)
        vector = args.pop(self._joined)
        for name, first, shape in parameter_parts(input_size_of(vector.size, *self._sizes), *self._sizes):
            count = shape[0] * (shape[1] if len(shape) == 2 else 1)
            args[self._prefix + name] = vector[first : first + count].reshape(shape).copy()
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        args = dict(args)
        first = next(name for name, *_ in parameter_parts(1, *self._sizes))
        parts = parameter_parts(args[self._prefix + first].shape[1], *self._sizes)
        args[self._joined] = concatenate([args.pop(self._prefix + name).reshape(-1) for name, *_ in parts])
        return args

    def __call__(self, inputs: Symbol, states: list) -> NoReturn:
        raise NotImplementedError("FusedRNNCell cannot be stepped. Please use unroll")

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run the network over a sequence, as `BaseRNNCell.unroll` runs a cell."""
        data = merged(sequence, inputs)
        if sequence.layout == "NTC":
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed", stacklevel=3)
            data = symbol.swapaxes(data, dim1=0, dim2=1)
        states = self.begin_state() if states is None else states
        outputs = symbol.RNN(
            data,
            self._parameter,
            *states,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=self._prefix + "rnn",
        )
        outputs, *states = outputs if self._get_next_state else [outputs]
        if sequence.layout == "NTC":
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return in_form(sequence, outputs), states

    def unfuse(self) -> SequentialRNNCell:
        """The same network as a stack of cells. `unpack_weights` and `pack_weights` convert the weights."""
        make, prefix, stack = _UNFUSED[self._mode], self._prefix, SequentialRNNCell()
        for layer in range(self._num_layers):
            cell: BaseRNNCell = make(self._num_hidden, prefix=f"{prefix}l{layer}_")
            if self._bidirectional:
                back = make(self._num_hidden, prefix=f"{prefix}r{layer}_")
                cell = BidirectionalCell(cell, back, output_prefix=f"{prefix}bi_l{layer}_")
            stack.add(cell)
            if self._dropout > 0 and layer < self._num_layers - 1:
                # "lstm__dropout0_", with both underscores (MXNet 1.9.1, observed).
                stack.add(DropoutCell(self._dropout, prefix=f"{prefix}_dropout{layer}_"))
        return stack

    @property
    def _num_gates(self) -> int:
        return GATES[self._mode]

    @property
    def _directions(self) -> list[str]:
        return ["l", "r"] if self._bidirectional else ["l"]
