"""`gluon.contrib.rnn`: an LSTM with a projection, dropout that is the same at every step, and convolutional cells."""

from types import ModuleType
from typing import Any

from ...initializer import Initial
from ...symbol.nesting import Data
from ...symbol.symbol import Symbol
from ..blocks.parameter_dict import ParameterDict
from ..rnn.combined_cells import BidirectionalCell
from ..rnn.modifier_cells import ModifierCell
from ..rnn.other_cells import LSTMCell
from ..rnn.recurrent_cell import RecurrentCell
from ..rnn.sequences import Sequence, Steps, operators_for
from .conv_cells import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)

__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell",
    "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell", "LSTMPCell", "VariationalDropoutCell", "dynamic_unroll",
]  # fmt: skip


class LSTMPCell(LSTMCell):
    """One step of an LSTM with a projected output (Sak et al. 2014).

    Args:
        hidden_size: features of the cell.
        projection_size: features of the output.
        h2r_weight_initializer: initializer of the projection; further arguments as in `LSTMCell`.
    """

    _shown = "hidden"

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        h2r_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super(LSTMCell, self).__init__(
            4,
            hidden_size,
            input_size,
            (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer),
            prefix,
            params,
            projection=(projection_size, h2r_weight_initializer),
        )
        self._activation, self._recurrent_activation = "tanh", "sigmoid"
        self._projection_size = projection_size

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the output and of the cell."""
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]} -> {self._projection_size})"

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list, *weights: Any, **named: Any) -> Any:  # type: ignore[override]
        projection = named.pop("h2r_weight")
        output, (_, cell) = super().hybrid_forward(F, inputs, states, *weights, **named)
        at = f"t{self._counter}_"
        result = F.FullyConnected(
            data=output, num_hidden=self._projection_size, weight=projection, no_bias=True, name=at + "out"
        )
        return result, [result, cell]


class VariationalDropoutCell(ModifierCell):
    """Dropout of inputs, states and outputs with masks that stay the same over a sequence (Gal, Ghahramani 2016).

    Args:
        base_cell: the wrapped cell. drop_inputs, drop_states, drop_outputs: probabilities of zeroing a feature. `drop_states`
            acts on the first state only.
    """

    def __init__(
        self, base_cell: RecurrentCell, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0
    ) -> None:
        assert not drop_states or not isinstance(base_cell, BidirectionalCell), (
            "BidirectionalCell doesn't support variational state dropout. "
            "Please add VariationalDropoutCell to the cells underneath instead."
        )
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs
        self._masks: dict[str, Any] = {}

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Forget the masks."""
        super().reset()
        self._masks = {}

    def _dropped(self, F: ModuleType, name: str, value: Data, rate: float) -> Any:
        if not rate:
            return value
        if name not in self._masks:
            self._masks[name] = F.Dropout(F.ones_like(value), p=rate)
        return value * self._masks[name]

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list) -> Any:
        states = [self._dropped(F, "states", states[0], self.drop_states), *states[1:]] if states else states
        output, following = self.base_cell(self._dropped(F, "inputs", inputs, self.drop_inputs), states)
        return self._dropped(F, "outputs", output, self.drop_outputs), following

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run the cell over a sequence: step by step if states are masked, otherwise with masks on the whole."""
        if self.drop_states:
            return super()._unroll(inputs, states, sequence)
        F = operators_for(inputs)
        whole = sequence.merged(F, inputs if isinstance(inputs, Symbol) else sequence.steps(inputs))
        self.base_cell._modified = False
        try:
            outputs, last = sequence._replace(merge=True).run(
                self.base_cell, self._shared(F, whole, sequence, "inputs"), states
            )
        finally:
            self.base_cell._modified = True
        outputs = self._shared(F, outputs, sequence, "outputs")
        return (sequence.steps(outputs) if sequence.merge is False else outputs), last

    def _shared(self, F: ModuleType, values: Data, sequence: Sequence, name: str) -> Any:
        """Apply the same mask at each step."""
        rate = getattr(self, f"drop_{name}")
        return F.Dropout(values, p=rate, axes=(sequence.axis,)) if rate else values


def dynamic_unroll(
    cell: RecurrentCell,
    inputs: Data,
    begin_state: list,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Data | None = None,
) -> tuple[Any, list]:
    """Run a cell over a sequence by `contrib.foreach`. Its graph accepts any number of steps.

    Args:
        cell: the cell.
        inputs: [T, N, ...], or [N, T, ...] with `layout="NTC"`.
        begin_state: the states before the first step.
        drop_inputs, drop_outputs: the rates of a dropout that is the same at every step.
        layout: the axes of inputs and outputs.
        valid_length: [N] steps of each sequence; states stop there, and outputs beyond are zeros.

    Returns:
        The outputs of all steps, and the last states.
    """
    F, axis = operators_for(inputs), layout.find("T")
    steps = inputs if axis == 0 else F.swapaxes(inputs, 0, axis)
    if drop_inputs:
        steps = F.Dropout(steps, p=drop_inputs, axes=(axis,))
    states = list(begin_state) if isinstance(begin_state, (list, tuple)) else [begin_state]

    def within(part: Data, before: list) -> tuple[Any, list]:
        output, after = cell(part, before[:-1])
        # The last state is the number of the step. A finished sequence keeps its states.
        going_on = F.broadcast_greater(valid_length, before[-1])
        return output, [*(F.where(going_on, *pair) for pair in zip(after, before, strict=False)), before[-1] + 1]

    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, steps, states)
    else:
        outputs, states = F.contrib.foreach(within, steps, [*states, F.zeros((1,))])
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(axis,))
    outputs = outputs if axis == 0 else F.swapaxes(outputs, 0, axis)
    if valid_length is None:
        return outputs, states
    return F.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=axis), states[:-1]
