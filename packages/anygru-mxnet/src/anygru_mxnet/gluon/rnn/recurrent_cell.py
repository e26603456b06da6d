"""`gluon.rnn.RecurrentCell`: the base class of all cells."""

from types import ModuleType
from typing import Any

from ... import ndarray
from ...ndarray.ndarray import NDArray
from ...symbol.nesting import Data
from ..blocks.base import Block
from ..blocks.hybrid import HybridBlock
from ..blocks.parameter_dict import ParameterDict
from .sequences import Sequence, Steps, operators_for

__all__ = ["HybridRecurrentCell", "RecurrentCell"]

# Activations that are operators (not `Activation`) in the graphs of cells.
_OPERATORS = ("tanh", "relu", "sigmoid", "softsign")
MODIFIED = (
    "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly. "
    "Call the modifier cell instead."
)


class RecurrentCell(Block):
    """One step of a recurrent network: called with an input and states, it returns an output and the next states."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the step counter. `unroll` begins with this."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            cell.reset()  # type: ignore[attr-defined]

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state."""
        raise NotImplementedError

    def begin_state(self, batch_size: int = 0, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """Initial states: `func` of their shapes, zeros by default."""
        assert not self._modified, MODIFIED
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**info, **kwargs}))
        return states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list]:
        """Run the cell over the steps of a sequence.

        Args:
            length: number of steps.
            inputs: one array or symbol in the layout, or a list with one for each step.
            begin_state: states; zeros by default.
            layout: "NTC" or "TNC".
            merge_outputs: True returns one array, False a list, None either of them.
            valid_length: [N] steps of each sequence; later outputs are 0, and the last states follow the last valid step.
        """
        self.reset()
        return self._unroll(inputs, begin_state, Sequence(length, layout, merge_outputs, valid_length))

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """`unroll`, with its options as one object."""
        steps = sequence.steps(inputs)
        F = operators_for(steps)
        states = self._begin(F, states, steps, sequence.batch_size(inputs))
        outputs, history = [], []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            history.append(states)
        if sequence.lengths is None:
            return (sequence.merged(F, outputs) if sequence.merge else outputs), states
        states = [
            F.SequenceLast(F.stack(*each, axis=0), sequence_length=sequence.lengths, use_sequence_length=True, axis=0)
            for each in zip(*history, strict=True)
        ]
        masked = sequence.masked(F, outputs, merge=True)
        return (sequence.steps(masked) if sequence.merge is False else masked), states

    def _begin(self, F: ModuleType, states: list | None, inputs: Steps, batch_size: int) -> list:
        """The given states, or the initial states."""
        if states is not None:
            return states
        if F is ndarray:
            first: Any = inputs if isinstance(inputs, NDArray) else inputs[0]
            with first.context:
                return self.begin_state(func=F.zeros, batch_size=batch_size)
        return self.begin_state(func=F.zeros, batch_size=batch_size)

    def _get_activation(self, F: ModuleType, inputs: Data, activation: Any, **kwargs: Any) -> Any:
        """Apply an activation, which is a name, a block or a function. Cells in user code call this."""
        if not isinstance(activation, str):
            return activation(inputs)
        if activation in _OPERATORS:
            return getattr(F, activation)(inputs, **kwargs)
        return F.Activation(inputs, act_type=activation, **kwargs)

    def forward(self, inputs: Data, states: list) -> Any:
        """One step."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that can be traced."""

    def hybrid_forward(self, F: ModuleType, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One step, with the operators of F."""
        raise NotImplementedError
