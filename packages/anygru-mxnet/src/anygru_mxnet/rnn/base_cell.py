"""`mx.rnn.BaseRNNCell`: the base class of the symbol API's cells."""

from itertools import product
from typing import Any

from .. import symbol
from ..gluon.rnn.sequences import Sequence, Steps
from ..ndarray import concatenate
from ..ndarray.ndarray import NDArray
from ..symbol.symbol import Symbol

__all__ = ["BaseRNNCell", "RNNParams"]

Arrays = dict[str, NDArray]
_JOINED = list(product(("i2h", "h2h"), ("weight", "bias")))
MODIFIED = (
    "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly. "
    "Call the modifier cell instead."
)


class RNNParams:
    """The variables of a cell, created on first use; cells with one dict share them."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable of a name without the prefix; further arguments as in `mx.sym.var`."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = symbol.var(full, **kwargs)
        return self._params[full]


class BaseRNNCell:
    """One step of a recurrent network: called with a symbol and states, it returns an output and the next states.

    Args:
        prefix: the beginning of the names of variables and outputs.
        params: variables to share.
    """

    # Whether the cell computes single steps.
    _steps = True
    # The gates in the order of the weights' rows, for files with a weight per gate. Cells in user code may define gates.
    _gate_names: tuple[str, ...] = ()

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the step counter. `unroll` begins with this."""
        self._init_counter = -1
        self._counter = -1

    def __call__(self, inputs: Symbol, states: list) -> tuple[Symbol, list]:
        """One step."""
        raise NotImplementedError

    @property
    def params(self) -> RNNParams:
        """The variables, which other cells can share."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape, with 0 for the batch size, and layout of each state."""
        raise NotImplementedError

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """Shape of each state."""
        return [info["shape"] for info in self.state_info]

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """Initial states: `func` of their shapes, zeros by default."""
        assert not self._modified, MODIFIED
        states = []
        for info in self.state_info:
            self._init_counter += 1
            # The cell's shape takes precedence over the caller's, unlike in Gluon (MXNet 1.9.1, observed for both).
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**kwargs, **info}))
        return states

    def unpack_weights(self, args: Arrays) -> Arrays:
        """Split the joined weights in a dict of arrays into a weight for each gate."""
        args = dict(args)
        for group, kind in _JOINED if len(self._gate_names) > 1 else ():
            joined = args.pop(f"{self._prefix}{group}_{kind}")
            size = joined.shape[0] // len(self._gate_names)
            for place, gate in enumerate(self._gate_names):
                part = joined[place * size : (place + 1) * size]
                args[f"{self._prefix}{group}{gate}_{kind}"] = part.copy()
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """The inverse of `unpack_weights`."""
        args = dict(args)
        for group, kind in _JOINED if len(self._gate_names) > 1 else ():
            parts = [args.pop(f"{self._prefix}{group}{gate}_{kind}") for gate in self._gate_names]
            args[f"{self._prefix}{group}_{kind}"] = concatenate(parts)
        return args

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Symbol:
        """Apply an activation, which is a name or a function. Cells in user code call this."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list]:
        """Run the cell over the steps of a sequence.

        Args:
            length: number of steps.
            inputs: one symbol in the layout, or a list with one for each step.
            begin_state: states; zeros by default.
            layout: "NTC" or "TNC".
            merge_outputs: True returns one symbol, False a list, None either of them.
        """
        self.reset()
        return self._unroll(inputs, begin_state, Sequence(length, layout, merge_outputs))

    def _unroll(self, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
        """`unroll`, with its options as one object."""
        states = self.begin_state() if states is None else states
        outputs: list = []
        for step in sequence.steps(inputs):
            output, states = self(step, states)
            outputs.append(output)
        return in_form(sequence, outputs), states


def run(cell: Any, inputs: Steps, states: list | None, sequence: Sequence) -> tuple[Any, list]:
    """Run a cell inside another cell, by its `unroll`, which user code may override."""
    return cell.unroll(sequence.length, inputs, states, sequence.layout, sequence.merge)


def in_form(sequence: Sequence, inputs: Steps) -> Any:
    """Return the steps as one symbol or as a list."""
    if sequence.merge is None:
        return inputs
    return merged(sequence, inputs) if sequence.merge else sequence.steps(inputs)


def merged(sequence: Sequence, inputs: Steps) -> Symbol:
    """Join the steps in one symbol, by MXNet 1.9.1's operators (source), because programs use the name `concat0_output`."""
    if isinstance(inputs, Symbol):
        return inputs
    return symbol.Concat(*(symbol.expand_dims(step, axis=sequence.axis) for step in inputs), dim=sequence.axis)
