"""Cells of `mx.rnn` that modify another cell: dropout, zoneout, residual connections."""

from typing import Any

from .. import symbol
from ..base import numeric_types
from ..gluon.rnn.sequences import Sequence, Steps
from ..symbol.symbol import Symbol
from .base_cell import MODIFIED, Arrays, BaseRNNCell, RNNParams, in_form, run

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(BaseRNNCell):
    """Applies dropout to its input. It has no states."""

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        assert isinstance(dropout, numeric_types), "dropout probability must be a number"
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """No states."""
        return []

    def __call__(self, inputs: Symbol, states: list) -> tuple[Symbol, list]:
        """Dropout of one step, or of a whole sequence."""
        return (symbol.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Dropout of the whole sequence in one call, if it is one symbol."""
        inputs = in_form(sequence, inputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super()._unroll(inputs, states, sequence)


class ModifierCell(BaseRNNCell):
    """A cell that modifies another cell, which must not be called directly from then on."""

    def __init__(self, base_cell: BaseRNNCell) -> None:
        self.base_cell = base_cell
        super().__init__()
        base_cell._modified = True

    def reset(self) -> None:
        """Reset the step counters."""
        super().reset()
        self.base_cell.reset()

    @property
    def params(self) -> RNNParams:
        """The variables of the wrapped cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the states of the wrapped cell."""
        return self.base_cell.state_info

    def begin_state(self, init_sym: Any = symbol.zeros, **kwargs: Any) -> list[Symbol]:  # type: ignore[override]
        """States of the wrapped cell."""
        assert not self._modified, MODIFIED
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=init_sym, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Arrays) -> Arrays:
        """Split the weights of the wrapped cell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Arrays) -> Arrays:
        """Join the weights of the wrapped cell."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps random elements of the previous output and states in training (Krueger et al. 2016)."""

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        assert all(cell._steps for cell in (base_cell, *getattr(base_cell, "_cells", ()))), (
            f"{type(base_cell).__name__} doesn't support zoneout since it doesn't support step. "
            "Please call unfuse first, or add ZoneoutCell to the cells underneath instead."
        )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def reset(self) -> None:
        """Forget the previous output."""
        super().reset()
        self._before: Symbol | None = None

    def __call__(self, inputs: Symbol, states: list) -> tuple[Symbol, list]:
        """One step, with elements of the previous one."""
        output, following = self.base_cell(inputs, states)

        def mixed(rate: float, new: Symbol, old: Symbol) -> Symbol:
            # Zeros of the dropout keep old elements. In prediction there are no zeros, and all elements are new (MXNet 1.9.1,
            # observed).
            return symbol.where(symbol.Dropout(symbol.ones_like(new), p=rate), new, old) if rate else new

        before = symbol.zeros_like(output) if self._before is None else self._before
        output = mixed(self.zoneout_outputs, output, before)
        self._before = output
        return output, [mixed(self.zoneout_states, new, old) for new, old in zip(following, states, strict=True)]


class ResidualCell(ModifierCell):
    """Adds the input to the output (Wu et al. 2016)."""

    def __call__(self, inputs: Symbol, states: list) -> tuple[Symbol, list]:
        """One step and the sum."""
        output, states = self.base_cell(inputs, states)
        return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual"), states

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run the wrapped cell over the sequence, and add."""
        self.base_cell._modified = False
        try:
            outputs, states = run(self.base_cell, inputs, states, sequence)
        finally:
            self.base_cell._modified = True
        inputs = in_form(sequence._replace(merge=isinstance(outputs, Symbol)), inputs)
        if isinstance(outputs, Symbol):
            return symbol.elemwise_add(outputs, inputs, name=f"{outputs.name}_plus_residual"), states
        return [
            symbol.elemwise_add(output, step, name=f"{output.name}_plus_residual")
            for output, step in zip(outputs, inputs, strict=True)
        ], states
