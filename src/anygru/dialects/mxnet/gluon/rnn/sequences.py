"""Sequences as one array (or symbol) with a time axis, or as a list of steps."""

from typing import Any

from ... import ndarray, symbol
from ...ndarray.ndarray import NDArray
from ...symbol import Symbol


def axis_of(layout: str) -> int:
    """The time axis."""
    return layout.find("T")


def operators_for(inputs: Any) -> Any:
    """`mx.nd` for arrays, `mx.sym` for symbols."""
    first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
    return symbol if isinstance(first, Symbol) else ndarray


def batch_size_of(inputs: Any, layout: str) -> int:
    """The batch size; 0 for symbols."""
    if isinstance(inputs, NDArray):
        return inputs.shape[layout.find("N")]
    if isinstance(inputs, Symbol) or isinstance(inputs[0], Symbol):
        return 0
    return inputs[0].shape[0]


def as_steps(length: int | None, inputs: Any, layout: str) -> list:
    """The steps of a sequence.

    Raises:
        AssertionError: for another number of steps than `length`.
    """
    assert inputs is not None, "unroll(inputs=None) has been deprecated. Please create input variables outside unroll."
    axis = axis_of(layout)
    if isinstance(inputs, NDArray):
        assert length is None or length == inputs.shape[axis], (
            f"unroll: inputs have {inputs.shape[axis]} steps, length is {length}"
        )
        parts = ndarray.split(inputs, axis=axis, num_outputs=inputs.shape[axis], squeeze_axis=1)
        return parts if isinstance(parts, list) else [parts]
    if isinstance(inputs, Symbol):
        return list(symbol.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1))
    assert length is None or len(inputs) == length, f"unroll: {len(inputs)} inputs were given, length is {length}"
    return list(inputs)


def as_merged(F: Any, steps: list, axis: int) -> Any:
    """Steps as one array."""
    return F.stack(*steps, axis=axis)


def mask_beyond(F: Any, data: Any, length: int, valid_length: Any, axis: int, merge: bool) -> Any:
    """Zeros beyond the length of each sequence; one array, or a list of steps."""
    if not isinstance(data, (NDArray, Symbol)):
        data = as_merged(F, data, axis)
    masked = F.SequenceMask(data, sequence_length=valid_length, use_sequence_length=True, axis=axis)
    return masked if merge else as_steps(length, masked, "NTC" if axis == 1 else "TNC")


def reverse_steps(F: Any, steps: list, length: int, valid_length: Any) -> list:
    """Steps in reverse order, each sequence within its own length."""
    if valid_length is None:
        return list(reversed(steps))
    turned = F.SequenceReverse(as_merged(F, steps, 0), sequence_length=valid_length, use_sequence_length=True)
    return as_steps(length, turned, "TNC")
