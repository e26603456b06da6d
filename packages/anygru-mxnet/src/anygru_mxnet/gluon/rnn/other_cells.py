"""`gluon.rnn.LSTMCell` and `RNNCell`: one step of an LSTM and of a network without gates, in MXNet's operators."""

from types import ModuleType
from typing import Any

from ...initializer import Initial
from ...symbol.nesting import Data
from ..blocks.parameter_dict import ParameterDict
from .gated_cell import GatedCell

__all__ = ["LSTMCell", "RNNCell"]


class RNNCell(GatedCell):
    """One step of a recurrent network without gates.

    Args:
        activation: its name, a block or a function.
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(1, hidden_size, input_size, initializers, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._activation})"

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Data,
        states: list,
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> Any:
        i2h, h2h = self._products(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        at = f"t{self._counter}_"
        result = self._get_activation(F, F.elemwise_add(i2h, h2h, name=at + "plus0"), self._activation, name=at + "out")
        return result, [result]


class LSTMCell(GatedCell):
    """One step of long short-term memory; its states are the output and the cell.

    Args:
        activation, recurrent_activation: of the cell and of the gates: names, blocks or functions.
    """

    _states = 2
    _shown = "out"  # suffix of the name of the output before the projection

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(4, hidden_size, input_size, initializers, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Data,
        states: list,
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> Any:
        i2h, h2h = self._products(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        at = f"t{self._counter}_"
        parts = F.SliceChannel(F.elemwise_add(i2h, h2h, name=at + "plus0"), num_outputs=4, name=at + "slice")
        return self._memory(F, parts, states, at)

    def _memory(self, F: ModuleType, parts: Any, states: list, at: str) -> Any:
        gate, forget, change, out = (
            self._get_activation(
                F, part, self._activation if name == "c" else self._recurrent_activation, name=at + name
            )
            for part, name in zip(parts, "ifco", strict=True)
        )
        kept = F.elemwise_mul(forget, states[1], name=at + "mul0")
        cell = F.elemwise_add(kept, F.elemwise_mul(gate, change, name=at + "mul1"), name=at + "state")
        # Only a name is possible, unlike for the gates: MXNet 1.9.1 raises an error for a block (observed).
        shown = F.Activation(cell, act_type=self._activation, name=at + "activation0")
        result = F.elemwise_mul(out, shown, name=at + self._shown)
        return result, [result, cell]
