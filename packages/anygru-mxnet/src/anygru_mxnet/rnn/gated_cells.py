"""`mx.rnn.RNNCell`, `LSTMCell` and `GRUCell`: one step, by the formulas of the Gluon cells of the same names."""

from typing import Any

from .. import symbol
from ..gluon.rnn import gru_cell, other_cells
from ..gluon.rnn.gated_cell import GatedCell
from ..initializer import LSTMBias
from ..operators.recurrent import GATE_NAMES
from ..symbol.symbol import Symbol
from .base_cell import BaseRNNCell, RNNParams

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _GatedCell(BaseRNNCell):
    """A cell with a product for the input and a product for the state."""

    def __init__(self, formula: GatedCell, gates: tuple[str, ...], params: RNNParams | None, **bias: Any) -> None:
        super().__init__(formula.prefix, params)
        self._formula = formula
        self._gate_names = gates
        self._num_hidden = formula._hidden_size
        # The attributes have MXNet's names, which cells in programs read and replace.
        self._iW, self._iB = self._params.get("i2h_weight"), self._params.get("i2h_bias", **bias)
        self._hW, self._hB = self._params.get("h2h_weight"), self._params.get("h2h_bias")

    def __call__(self, inputs: Symbol, states: list) -> tuple[Symbol, list]:
        self._counter += 1
        self._formula._counter = self._counter
        with self._formula.name_scope():
            return self._formula.hybrid_forward(
                symbol, inputs, states, i2h_weight=self._iW, h2h_weight=self._hW, i2h_bias=self._iB, h2h_bias=self._hB
            )

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self._formula.state_info()


class RNNCell(_GatedCell):
    """One step of a recurrent network without gates."""

    def __init__(
        self, num_hidden: int, activation: str = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(other_cells.RNNCell(num_hidden, activation, prefix=prefix), GATE_NAMES["rnn_tanh"], params)


class LSTMCell(_GatedCell):
    """One step of long short-term memory.

    Args:
        forget_bias: the first value of the forget gate's bias.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        formula = other_cells.LSTMCell(num_hidden, prefix=prefix)
        super().__init__(formula, GATE_NAMES["lstm"], params, init=LSTMBias(forget_bias=forget_bias))


class GRUCell(_GatedCell):
    """One step of a GRU; the reset gate acts after the product."""

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(gru_cell.GRUCell(num_hidden, prefix=prefix), GATE_NAMES["gru"], params)
