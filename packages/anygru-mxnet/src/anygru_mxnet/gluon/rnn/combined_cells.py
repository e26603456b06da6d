"""Cells that combine cells: a stack, or two directions."""

from types import ModuleType
from typing import Any

from ...symbol.nesting import Data
from ..blocks.parameter_dict import ParameterDict
from ..utils import indent
from .recurrent_cell import MODIFIED, HybridRecurrentCell, RecurrentCell
from .sequences import Sequence, Steps, operators_for

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _Cells(RecurrentCell):
    """Several cells with the concatenated list of their states."""

    def _cells(self) -> list[RecurrentCell]:
        return list(self._children.values())  # type: ignore[arg-type]

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """States of all cells."""
        assert not self._modified, MODIFIED
        return [state for cell in self._cells() for state in cell.begin_state(**kwargs)]


class _Stack(_Cells):
    """A stack of cells: the output of each is the input of the next."""

    def __repr__(self) -> str:
        cells = "\n".join(f"({place}): {indent(repr(cell), 2)}" for place, cell in self._children.items())
        return f"{type(self).__name__}(\n{cells}\n)"

    def add(self, cell: RecurrentCell) -> None:
        """Add a cell on top."""
        self.register_child(cell)

    def __call__(self, inputs: Data, states: list) -> Any:
        self._counter += 1
        assert not any(isinstance(cell, BidirectionalCell) for cell in self._cells()), (
            "a BidirectionalCell cannot be stepped; use unroll"
        )
        following, at = [], 0
        for cell in self._cells():
            count = len(cell.state_info())
            inputs, after = cell(inputs, states[at : at + count])
            following.extend(after)
            at += count
        return inputs, following

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run each cell over the whole sequence, from the first to the last."""
        states = self._begin(operators_for(inputs), states, inputs, sequence.batch_size(inputs))
        following, at = [], 0
        last = len(self._children) - 1
        for place, cell in enumerate(self._cells()):
            count = len(cell.state_info())
            form = sequence if place == last else sequence._replace(merge=None)
            inputs, after = form.run(cell, inputs, states[at : at + count])
            following.extend(after)
            at += count
        return inputs, following

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_Stack):
    """A stack of cells."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """A stack of cells that can be traced."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list) -> Any:
        return self.__call__(inputs, states)


class BidirectionalCell(_Cells, HybridRecurrentCell):
    """Two cells that read a sequence in opposite directions. Only `unroll` runs them.

    Args:
        l_cell: reads from the beginning.
        r_cell: reads from the end.
        output_prefix: beginning of the names of outputs in a graph.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Data, states: list) -> Any:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        forward, backward = self._children.values()
        return f"{type(self).__name__}(forward={forward}, backward={backward})"

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run both cells over the sequence. The outputs are joined along the features."""
        steps = sequence.steps(inputs)
        F = operators_for(steps)
        states = self._begin(F, states, steps, sequence.batch_size(inputs))
        forward, backward = self._cells()
        count = len(forward.state_info())
        apart = sequence._replace(merge=False)
        left, left_states = apart.run(forward, steps, states[:count])
        right, right_states = apart.run(backward, sequence.reversed(F, steps), states[count:])
        outputs: Any = [
            F.concat(one, other, dim=1, name=f"{self._output_prefix}t{place}")
            for place, (one, other) in enumerate(zip(left, sequence.reversed(F, right), strict=True))
        ]
        following = left_states + right_states
        if sequence.lengths is not None:
            return sequence.masked(F, outputs, sequence.merge is not False), following
        return (sequence.merged(F, outputs) if sequence.merge else outputs), following
