"""The steps of a sequence for `unroll`: one array (or symbol) with a time axis, or a list."""

from types import ModuleType
from typing import Any, NamedTuple

from ... import ndarray, symbol
from ...ndarray.ndarray import NDArray
from ...symbol.nesting import Data
from ...symbol.symbol import Symbol

Steps = Data | list[Data] | tuple[Data, ...]


class Sequence(NamedTuple):
    """Options of `unroll` for a sequence.

    Attributes:
        length: number of steps.
        layout: "NTC" or "TNC", the axes of inputs and outputs.
        merge: True returns the outputs as one array, False as a list of steps, None as either of them.
        lengths: [N] valid steps of each sequence, or None.
    """

    length: int | None
    layout: str = "NTC"
    merge: bool | None = None
    lengths: Data | None = None

    @property
    def axis(self) -> int:
        """The time axis."""
        return self.layout.find("T")

    def run(self, cell: Any, inputs: Steps, states: list | None) -> tuple[Any, list]:
        """Run a cell by its `unroll`, which user code may override."""
        return cell.unroll(
            self.length,
            inputs=inputs,
            begin_state=states,
            layout=self.layout,
            merge_outputs=self.merge,
            valid_length=self.lengths,
        )

    def batch_size(self, inputs: Steps) -> int:
        """The batch size; 0 for symbols."""
        if isinstance(inputs, NDArray):
            return inputs.shape[self.layout.find("N")]
        if isinstance(inputs, Symbol) or isinstance(inputs[0], Symbol):
            return 0
        return inputs[0].shape[0]

    def steps(self, inputs: Steps) -> list:
        """The inputs as a list of steps.

        Raises:
            AssertionError: for another number of steps than `length`.
        """
        assert inputs is not None, (
            "unroll(inputs=None) has been deprecated. Please create input variables outside unroll."
        )
        if isinstance(inputs, NDArray):
            count = inputs.shape[self.axis]
            assert self.length is None or self.length == count, (
                f"unroll: inputs have {count} steps, length is {self.length}"
            )
            parts = ndarray.split(inputs, axis=self.axis, num_outputs=count, squeeze_axis=1)
            return parts if isinstance(parts, list) else [parts]
        if isinstance(inputs, Symbol):
            return list(symbol.split(inputs, axis=self.axis, num_outputs=self.length, squeeze_axis=1))
        assert self.length is None or len(inputs) == self.length, (
            f"unroll: {len(inputs)} inputs were given, length is {self.length}"
        )
        return list(inputs)

    def merged(self, F: ModuleType, inputs: Steps) -> Any:
        """The inputs as one array."""
        return inputs if isinstance(inputs, Data) else F.stack(*inputs, axis=self.axis)

    def masked(self, F: ModuleType, inputs: Steps, merge: bool) -> Any:
        """Set the outputs beyond the length of each sequence to zero. Returns one array, or a list of steps."""
        values = F.SequenceMask(
            self.merged(F, inputs), sequence_length=self.lengths, use_sequence_length=True, axis=self.axis
        )
        return values if merge else self.steps(values)

    def reversed(self, F: ModuleType, steps: list) -> list:
        """Steps in reverse order, each sequence within its own length."""
        if self.lengths is None:
            return list(reversed(steps))
        whole = F.stack(*steps, axis=0)
        turned = F.SequenceReverse(whole, sequence_length=self.lengths, use_sequence_length=True)
        return self._replace(layout="TNC").steps(turned)


def operators_for(inputs: Steps) -> ModuleType:
    """`mx.nd` for arrays, `mx.sym` for symbols."""
    first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
    return symbol if isinstance(first, Symbol) else ndarray
