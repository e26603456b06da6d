"""Cells that modify another cell: dropout, zoneout, residual connections."""

from types import ModuleType
from typing import Any

from ... import ndarray
from ...base import numeric_types
from ...symbol.nesting import Data
from ..blocks.parameter import tensor_types
from ..blocks.parameter_dict import ParameterDict
from .combined_cells import BidirectionalCell
from .recurrent_cell import MODIFIED, HybridRecurrentCell, RecurrentCell
from .sequences import Sequence, Steps, operators_for

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(HybridRecurrentCell):
    """Applies dropout to its input. It has no states.

    Args:
        rate: probability of zeroing an element when training.
        axes: axes along which elements are dropped together.
    """

    def __init__(
        self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix, params)
        assert isinstance(rate, numeric_types), "rate must be a number"
        self._rate = rate
        self._axes = axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """No states."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list) -> Any:
        """Dropout of one step."""
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Dropout of the whole sequence in one call, if it is one array."""
        F = operators_for(inputs)
        if sequence.merge is False:
            inputs = sequence.steps(inputs)
        elif sequence.merge:
            inputs = sequence.merged(F, inputs)
        if isinstance(inputs, tensor_types):
            return self.hybrid_forward(F, inputs, states or [])
        # Lengths have no effect: there are no states, and dropout keeps zeros.
        return super()._unroll(inputs, states, sequence._replace(lengths=None))


class ModifierCell(HybridRecurrentCell):
    """A cell that modifies another cell, which must not be called directly from then on."""

    def __init__(self, base_cell: RecurrentCell) -> None:
        assert not base_cell._modified, f"Cell {base_cell.name} is already modified. One cell cannot be modified twice"
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        """The parameters of the wrapped cell."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the states of the wrapped cell."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """States of the wrapped cell."""
        assert not self._modified, MODIFIED
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list) -> Any:
        """One step; a subclass defines it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Keeps random elements of the previous output and states in training (Krueger et al. 2016).

    Args:
        base_cell: the wrapped cell.
        zoneout_outputs, zoneout_states: probabilities of keeping an element.
    """

    def __init__(self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        assert not isinstance(base_cell, BidirectionalCell), (
            "BidirectionalCell doesn't support zoneout since it doesn't support step. "
            "Please add ZoneoutCell to the cells underneath instead."
        )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forget the previous output."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list) -> Any:
        """One step, with elements of the previous one."""
        output, following = self.base_cell(inputs, states)

        def mixed(rate: float, new: Any, old: Any) -> Any:
            # The mask is a dropout of ones: 0 keeps the old element. In prediction all elements are new.
            return F.where(F.Dropout(F.ones_like(new), p=rate), new, old) if rate else new

        before = F.zeros_like(output) if self._prev_output is None else self._prev_output
        output = mixed(self.zoneout_outputs, output, before)
        # The mixed output, not the wrapped cell's output.
        self._prev_output = output
        return output, [mixed(self.zoneout_states, new, old) for new, old in zip(following, states, strict=True)]


class ResidualCell(ModifierCell):
    """Adds the input to the output (Wu et al. 2016)."""

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list) -> Any:
        """One step and the sum."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """Run the wrapped cell over the sequence, and add."""
        self.base_cell._modified = False
        try:
            outputs, states = sequence.run(self.base_cell, inputs, states)
        finally:
            self.base_cell._modified = True
        F = operators_for(inputs)
        merged = isinstance(outputs, tensor_types) if sequence.merge is None else sequence.merge
        if sequence.lengths is not None:
            inputs = sequence.masked(F, inputs, merged)
        if merged:
            return F.elemwise_add(outputs, sequence.merged(F, inputs)), states
        steps = sequence.steps(inputs)
        return [F.elemwise_add(output, step) for output, step in zip(outputs, steps, strict=True)], states
