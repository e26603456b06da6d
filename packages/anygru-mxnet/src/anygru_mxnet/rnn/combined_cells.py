"""`mx.rnn.SequentialRNNCell` and `BidirectionalCell`: cells that combine cells."""

from typing import Any, NoReturn

from .. import symbol
from ..gluon.rnn.sequences import Sequence, Steps
from ..symbol.symbol import Symbol
from .base_cell import MODIFIED, Arrays, BaseRNNCell, RNNParams, run

__all__ = ["BidirectionalCell", "SequentialRNNCell"]


class _Cells(BaseRNNCell):
    """Several cells with the concatenated list of their states."""

    def __init__(self, params: RNNParams | None, cells: list[BaseRNNCell]) -> None:
        self._cells = cells
        super().__init__("", params)
        self._override_cell_params = params is not None

    def reset(self) -> None:
        """Reset the step counters."""
        super().reset()
        for cell in self._cells:
            cell.reset()

    def _share(self, cell: BaseRNNCell) -> None:
        """Share variables between a cell and the combined cell.

        Raises:
            AssertionError: if the cell has also got variables.
        """
        if self._override_cell_params:
            assert cell._own_params, "Either specify params for the whole or for its cells, not both."
            cell.params._params.update(self._params._params)
        self._params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Symbol]:  # type: ignore[override]
        """States of all cells."""
        assert not self._modified, MODIFIED
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """Split the joined weights of all cells in a dict of arrays."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def _split_states(self, states: list) -> list[list]:
        """The states of each cell."""
        ends = [0]
        for cell in self._cells:
            ends.append(ends[-1] + len(cell.state_info))
        return [states[first:last] for first, last in zip(ends, ends[1:], strict=False)]


class SequentialRNNCell(_Cells):
    """A stack of cells."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params, [])

    def add(self, cell: BaseRNNCell) -> None:
        self._cells.append(cell)
        self._share(cell)

    def __call__(self, inputs: Symbol, states: list) -> tuple[Symbol, list]:
        """One step of each cell."""
        self._counter += 1
        following = []
        for cell, own in zip(self._cells, self._split_states(states), strict=True):
            inputs, after = cell(inputs, own)
            following.extend(after)
        return inputs, following

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        states = self.begin_state() if states is None else states
        following: list = []
        for cell, own in zip(self._cells, self._split_states(states), strict=True):
            merge = sequence.merge if cell is self._cells[-1] else None
            inputs, after = run(cell, inputs, own, sequence._replace(merge=merge))
            following.extend(after)
        return inputs, following


class BidirectionalCell(_Cells):
    """Two cells that read a sequence in opposite directions. Only `unroll` runs them."""

    _steps = False

    def __init__(
        self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None, output_prefix: str = "bi_"
    ) -> None:
        super().__init__(params, [l_cell, r_cell])
        self._output_prefix = output_prefix
        for cell in self._cells:
            self._share(cell)

    def __call__(self, inputs: Symbol, states: list) -> NoReturn:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run both cells over the sequence. The outputs are joined along the features; there are two lists of states."""
        steps = sequence.steps(inputs)
        own = self._split_states(self.begin_state() if states is None else states)
        sides = [(self._cells[0], steps, own[0]), (self._cells[1], steps[::-1], own[1])]
        results = [run(cell, values, first, sequence) for cell, values, first in sides]
        (left, left_states), (right, right_states) = results
        merge = isinstance(left, Symbol) and isinstance(right, Symbol)
        if merge:
            right = symbol.reverse(right, axis=sequence.axis)
            return symbol.Concat(left, right, dim=2, name=f"{self._output_prefix}out"), [left_states, right_states]
        pairs = zip(sequence.steps(left), sequence.steps(right)[::-1], strict=True)
        outputs = [
            symbol.Concat(one, other, dim=1, name=f"{self._output_prefix}t{place}")
            for place, (one, other) in enumerate(pairs)
        ]
        return outputs, [left_states, right_states]
