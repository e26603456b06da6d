"""A cell along a sequence: `RNN` and `BiRNN`. Source: Paddle 2.6, `paddle.nn.layer.rnn`, documentation and records."""

from collections.abc import Callable
from typing import Any

import torch

from ...framework.framework import get_default_dtype
from ...tensor import creation, manipulation
from ...tensor.operation import need_tensor, wrap
from ...tensor.tensor import Tensor, plain
from .layers import Layer

Nested = Any  # a tensor, or nested tuples, lists and dicts of tensors


def map_structure(function: Callable[..., Any], *structures: Nested) -> Nested:
    """`function` on the tensors of nested tuples, lists and dicts of one form."""
    first = structures[0]
    if isinstance(first, (list, tuple)):
        parts = [map_structure(function, *each) for each in zip(*structures, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, dict):
        return {key: map_structure(function, *(each[key] for each in structures)) for key in first}
    return function(*structures)


def first_tensor(structure: Nested) -> torch.Tensor:
    """The first tensor of a nested structure."""
    while isinstance(structure, (list, tuple, dict)):
        structure = next(iter(structure.values() if isinstance(structure, dict) else structure))
    return structure


class RNNCellBase(Layer):
    """The base of cells that `RNN` runs along a sequence. Subclasses give `state_shape` and `forward(inputs, states)`."""

    def get_initial_states(
        self,
        batch_ref: Nested,
        shape: Nested = None,
        dtype: Nested = None,
        init_value: float = 0.0,
        batch_dim_idx: int = 0,
    ) -> Nested:
        """A first state, `init_value` everywhere.

        Args:
            batch_ref: a tensor (of nested ones the first counts) with axis `batch_dim_idx` as the batch.
            shape: the shape of one state without the batch axis, or nested ones; `state_shape` unless given.
            dtype: the dtype, or nested ones; `state_dtype` unless given, or the default dtype for a cell without it.
            init_value: the value.
            batch_dim_idx: the batch axis.
        """
        batch = first_tensor(batch_ref).shape[batch_dim_idx]
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = get_default_dtype()
        return self._filled(batch, self.state_shape if shape is None else shape, dtype, init_value)

    def _filled(self, batch: int, shape: Nested, dtype: Nested, value: float) -> Nested:
        if isinstance(shape, (list, tuple)) and shape and not isinstance(shape[0], int):
            dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(shape)
            parts = [self._filled(batch, each, own, value) for each, own in zip(shape, dtypes, strict=True)]
            return type(shape)(parts)
        sizes = list(shape) if isinstance(shape, (list, tuple)) else [shape]
        return creation.full([batch, *(sizes[1:] if sizes and sizes[0] == -1 else sizes)], value, dtype)

    @property
    def state_shape(self) -> Nested:
        """The shape of one state, without the batch axis."""
        raise NotImplementedError("Please add implementation for `state_shape` in the used cell.")

    @property
    def state_dtype(self) -> Nested:
        """The dtype of a state."""
        raise NotImplementedError("Please add implementation for `state_dtype` in the used cell.")

    def along(
        self, inputs: Nested, states: Nested, lengths: torch.Tensor | None, time_major: bool, is_reverse: bool
    ) -> tuple[Nested, Nested] | None:
        """All outputs and the last state, for cells that compute them at once; None for a step at a time."""
        return None


def checked_lengths(sequence_length: torch.Tensor | None, batch: int, columns: bool = False) -> torch.Tensor | None:
    """The lengths in torch's form.

    `columns` takes [B, 1] besides [B], as the kernel behind Paddle 2.6.2's layers does; `paddle.nn.RNN` refuses it there.

    Raises:
        ValueError: unless None or an int32 or int64 tensor with one length a sequence.
    """
    if sequence_length is None:
        return None
    if not isinstance(sequence_length, torch.Tensor):
        raise ValueError(
            "(InvalidArgument) rnn(): argument 'sequence_length' (position 3) must be Tensor, but got "
            f"{type(sequence_length).__name__}"
        )
    lengths = plain(sequence_length)
    if lengths.dtype not in (torch.int32, torch.int64):
        raise ValueError(
            f"(InvalidArgument) sequence_length must be int32 or int64, but received {sequence_length.dtype}"
        )
    if columns and lengths.shape[:1] == (batch,) and lengths.numel() == batch:
        lengths = lengths.reshape(-1)
    if lengths.shape != (batch,):
        raise ValueError(
            "(InvalidArgument) The size of SequenceLength has to equal the batch_size. But received batch_size is "
            f"{batch} and the shape of SequenceLength is {list(lengths.shape)}."
        )
    return lengths


def rnn(
    cell: Layer,
    inputs: Nested,
    initial_states: Nested = None,
    sequence_length: torch.Tensor | None = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> tuple[Nested, Nested]:
    """Run a cell along a sequence; returns all its outputs and its last state.

    With `sequence_length` a sequence's state does not change past its end; the outputs there are computed from that state.
    `is_reverse` begins at the last step (of the padded length).
    """
    first = first_tensor(inputs)
    need_tensor(first, "inputs", "rnn")
    axis, batch_axis = (0, 1) if time_major else (1, 0)
    steps = int(first.shape[axis])
    lengths = checked_lengths(sequence_length, first.shape[batch_axis])
    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=batch_axis)  # type: ignore[operator]
    if not kwargs and isinstance(cell, RNNCellBase):
        found = cell.along(inputs, initial_states, lengths, time_major, is_reverse)
        if found is not None:
            return found
    states, outputs = initial_states, []
    for step in range(steps - 1, -1, -1) if is_reverse else range(steps):
        step_inputs = map_structure(lambda value, step=step: wrap(torch.select(value, axis, step)), inputs)
        output, new = cell(step_inputs, states, **kwargs)
        if lengths is not None:
            running = step < lengths
            new = map_structure(lambda old, value, running=running: _keep(running, old, value), states, new)
        states = new
        outputs.append(output)
    if is_reverse:
        outputs.reverse()
    return map_structure(lambda *each: manipulation.stack(list(each), axis), *outputs), states


def _keep(running: torch.Tensor, old: torch.Tensor, new: torch.Tensor) -> Tensor:
    """The new state where the sequence still runs, the old one where it has ended."""
    mask = running.reshape([-1] + [1] * (new.ndim - 1))
    return wrap(torch.where(mask, new, old))


def birnn(
    cell_fw: Layer,
    cell_bw: Layer,
    inputs: Nested,
    initial_states: Nested = None,
    sequence_length: torch.Tensor | None = None,
    time_major: bool = False,
    **kwargs: Any,
) -> tuple[Nested, Nested]:
    """Run two cells along a sequence in opposite directions; outputs are joined, the two last states are a tuple."""
    forward_states, backward_states = (None, None) if initial_states is None else initial_states
    out_fw, last_fw = rnn(cell_fw, inputs, forward_states, sequence_length, time_major, False, **kwargs)
    out_bw, last_bw = rnn(cell_bw, inputs, backward_states, sequence_length, time_major, True, **kwargs)
    joined = map_structure(lambda first, second: manipulation.concat([first, second], -1), out_fw, out_bw)
    return joined, (last_fw, last_bw)
