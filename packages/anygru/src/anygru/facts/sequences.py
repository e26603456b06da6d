"""Every form of batch, to the inner form and back.

A ragged batch may come as a list of [L_b, I] tensors, a PackedSequence, a nested jagged tensor, or a padded tensor with
lengths. The inner form is *packed rows* [N, I]: step 0 of every sequence, then step 1 of every sequence that has it,
and so on, the longest sequence first in each step. `batch_sizes` [T] holds the number of rows of each step. No row is
padding, the rows of a step are contiguous, and the sequences that continue are always the first. torch and cuDNN use
the same form.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from ..errors import ArgumentError, ArgumentTypeError
from . import torch_private
from .arguments import is_distributed, is_shape

Lengths: TypeAlias = Tensor | Sequence[int]
Batch: TypeAlias = Tensor | Sequence[Tensor] | PackedSequence


class Rows(NamedTuple):
    """A ragged batch in the inner form."""

    data: Tensor
    """[N, I]"""
    batch_sizes: Tensor
    """int64 [T] on the CPU, never increasing."""
    batch: int
    """B; sequences without a step are included."""
    order: Tensor | None
    """int64 [B] on the data's device: the caller's index of the k-th longest sequence. None: already in order."""
    restore: Callable[[Tensor], Batch]
    """Output rows [N, F] to the caller's form."""
    align: Callable[[Batch, str], Tensor]
    """Values [..., F] for each step, in the caller's form, to rows [N, F]; the text names them in errors."""

    def sort_state(self, h: Tensor) -> Tensor:
        """A state [L*D, B, H] in the caller's order, in the order of the rows."""
        return h if self.order is None else h.index_select(1, self.order)

    def unsort_state(self, h: Tensor) -> Tensor:
        """The inverse of `sort_state`."""
        return h if self.order is None else h.index_select(1, torch.argsort(self.order))


def enter(input: Batch, lengths: Lengths | None, batch_first: bool) -> Rows:
    """A ragged batch in the inner form.

    Args:
        input: list or tuple of [L_b, I] tensors, PackedSequence, nested tensor [B, (L_b), I], or a padded tensor [T, B, I]
            ([B, T, I] if batch_first) with lengths. Steps of a padded tensor past a sequence's end are never read.
        lengths: int [B], each from 0 to T, in steps; for a padded tensor only.

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.
    """
    if is_distributed(input[0] if isinstance(input, (list, tuple)) and len(input) else input):
        raise ArgumentTypeError(
            "input is a DTensor, which is computed as a dense batch only: pass full_tensor(), or no lengths"
        )
    if isinstance(input, Tensor) and not input.is_nested:
        assert lengths is not None, "a padded tensor without lengths is no ragged batch"
        return _from_padded(input, lengths, batch_first)
    if lengths is not None:
        raise ArgumentError(f"lengths goes with a padded tensor only, got it with a {_form(input)}")
    if isinstance(input, PackedSequence):
        return _from_packed(input)
    if isinstance(input, Tensor):
        return _from_nested(input)
    if isinstance(input, (list, tuple)):
        return _from_list(input)
    raise ArgumentTypeError(
        "input must be a tensor, a list of tensors, a PackedSequence or a nested tensor, "
        f"got {type(input).__module__}.{type(input).__qualname__}"
    )


def _form(input: Batch) -> str:
    if isinstance(input, Tensor) and input.is_nested:
        return "nested tensor"
    return type(input).__name__


def _from_packed(packed: PackedSequence) -> Rows:
    data, batch_sizes, order, unsorted = packed
    recorded = torch_private.tracing_state() is not None
    compiled = torch.compiler.is_compiling()
    if not compiled and not recorded:  # a graph cannot look at the numbers
        _check_packed(data, batch_sizes, order)
    if recorded:
        batch = cast(int, batch_sizes[0])  # a tensor, so that the size of h_0 is recorded and no constant
    elif compiled:
        batch = cast(int, batch_sizes[0].item()) if order is None else order.shape[0]  # symbols
    else:
        batch = int(batch_sizes[0]) if len(batch_sizes) else 0

    def align(values: Batch, name: str) -> Tensor:
        rows = values.data if isinstance(values, PackedSequence) else values
        if not isinstance(rows, Tensor) or len(rows) != len(data):
            raise ArgumentError(f"{name} must be a PackedSequence with the {len(data)} rows of the input")
        return rows

    return Rows(data, batch_sizes, batch, order, lambda rows: PackedSequence(rows, batch_sizes, order, unsorted), align)


def _check_packed(data: Tensor, batch_sizes: Tensor, order: Tensor | None) -> None:
    """Refuses an inconsistent PackedSequence that was made by hand; torch's constructor does not check."""
    if data.dim() != 2:
        raise ArgumentError(f"a packed input's data must be [N, I], got {list(data.shape)}")
    if batch_sizes.dtype is not torch.int64 or batch_sizes.dim() != 1:
        raise ArgumentTypeError(
            f"a packed input's batch_sizes must be int64 [T], got {batch_sizes.dtype} {list(batch_sizes.shape)}"
        )
    sizes = batch_sizes.tolist()
    if any(after > before for before, after in itertools.pairwise(sizes)) or (sizes and sizes[-1] < 0):
        raise ArgumentError(f"a packed input's batch_sizes must be at least 0 and never increase, got {_some(sizes)}")
    if sum(sizes) != len(data):
        raise ArgumentError(
            f"a packed input's batch_sizes must add up to the {len(data)} rows of its data, got {sum(sizes)}"
        )
    if order is None:
        return
    batch = sizes[0] if sizes else 0
    # Reading the numbers on another device would wait for it, which is not allowed while a CUDA graph is captured.
    if order.shape != (batch,) or (order.device.type == "cpu" and sorted(order.tolist()) != list(range(batch))):
        raise ArgumentError(
            f"a packed input's sorted_indices must hold each of the {batch} sequences once, got {_some(order.tolist())}"
        )


def _some(numbers: list[int]) -> str:
    """The numbers, or the first of many, for a message."""
    return str(numbers) if len(numbers) <= 8 else f"{str(numbers[:8])[:-1]}, ...]"


def _from_list(sequences: Sequence[Tensor]) -> Rows:
    lengths = []
    for index, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise ArgumentTypeError(f"input[{index}] must be a tensor, got {type(sequence).__name__}")
        if sequence.dim() != 2 or sequence.shape[1] != sequences[0].shape[1]:
            expected = f"[L, {sequences[0].shape[1]}]" if sequences[0].dim() == 2 else "[L, I]"
            raise ArgumentError(f"input[{index}] must be {expected}, got {list(sequence.shape)}")
        if sequence.dtype is not sequences[0].dtype or sequence.device != sequences[0].device:
            raise ArgumentTypeError(
                f"input[{index}] must be {sequences[0].dtype} on {sequences[0].device} as input[0] is, "
                f"got {sequence.dtype} on {sequence.device}"
            )
        lengths.append(sequence.shape[0])
    if not sequences:
        raise ArgumentError("input is a list without a sequence; an empty batch is a tensor [T, 0, I]")

    def restore(inverse: Tensor, rows: Tensor) -> Batch:
        parts = rows.index_select(0, inverse).split_with_sizes(lengths)
        return parts if isinstance(sequences, tuple) else list(parts)

    return _from_joined(torch.cat(tuple(sequences)), torch.tensor(lengths, device="cpu"), restore)


def _from_nested(nested: Tensor) -> Rows:
    if nested.layout is not torch.jagged:
        rows = _from_list(nested.unbind())

        def restore_strided(output: Tensor) -> Batch:
            return torch.nested.as_nested_tensor(
                list(cast(Sequence[Tensor], rows.restore(output))), layout=torch.strided
            )

        return rows._replace(restore=restore_strided)
    if nested.dim() != 3 or nested._ragged_idx != 1:  # type: ignore[attr-defined]
        raise ArgumentError(f"a nested input must be [B, (L), I], got {list(nested.shape)}")
    if nested.lengths() is not None:  # type: ignore[attr-defined]
        raise ArgumentError("a nested input must be contiguous, with no holes between its sequences")
    offsets = nested.offsets()  # type: ignore[attr-defined]
    bounds = {}
    if torch_private.jagged_bounds:
        bounds = {"min_seqlen": nested._min_seqlen, "max_seqlen": nested._max_seqlen}  # type: ignore[attr-defined]

    def restore(inverse: Tensor, rows: Tensor) -> Batch:
        return torch.nested.nested_tensor_from_jagged(rows.index_select(0, inverse), offsets, **bounds)

    return _from_joined(nested.values(), offsets.diff().cpu(), restore)


def _from_padded(input: Tensor, lengths: Lengths, batch_first: bool) -> Rows:
    if input.dim() != 3:
        raise ArgumentError(f"input must have 3 dimensions when lengths is given, got {list(input.shape)}")
    batch, steps = input.shape[:2] if batch_first else (input.shape[1], input.shape[0])
    lengths = check_lengths(lengths, batch, steps)
    strides = (steps, 1) if batch_first else (1, batch)
    order, sizes, index = _row_index(lengths, torch.arange(batch, device="cpu") * strides[0], strides[1])
    index = index.to(input.device)

    def restore(rows: Tensor) -> Batch:
        padded = rows.new_zeros((batch * steps, *rows.shape[1:])).index_copy(0, index, rows)
        return padded.view(*input.shape[:2], *rows.shape[1:])

    def align(values: Batch, name: str) -> Tensor:
        if not isinstance(values, Tensor) or not is_shape(values.shape[:2], input.shape[:2]):
            raise ArgumentError(f"{name} must have the {list(input.shape[:2])} steps of the padded input")
        return values.flatten(0, 1).index_select(0, index)

    return Rows(align(input, "input"), sizes, batch, order.to(input.device), restore, align)


def check_lengths(lengths: Lengths, batch: int, steps: int) -> Tensor:
    """lengths as int64 [B] on the CPU.

    Raises:
        ArgumentError: not one integer a sequence, or one is negative or more than `steps`.
        ArgumentTypeError: lengths are not integers.
    """
    try:
        checked = torch.as_tensor(lengths, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentTypeError(
            f"lengths must be integers [B], got {type(lengths).__name__} {lengths!r:.60}"
        ) from error
    no_integers = checked.is_floating_point() or checked.is_complex() or checked.dtype is torch.bool
    if no_integers and checked.numel():  # an empty list becomes an empty float tensor
        raise ArgumentTypeError(f"lengths must be integers, got {checked.dtype}")
    if checked.shape != (batch,):
        raise ArgumentError(f"lengths must be [B] = [{batch}], got {list(checked.shape)}")
    checked = checked.to(torch.int64)
    if batch and not 0 <= int(checked.min()) <= int(checked.max()) <= steps:
        worst = int(checked.min()) if int(checked.min()) < 0 else int(checked.max())
        raise ArgumentError(f"lengths must be between 0 and the {steps} steps of input, got {worst}")
    return checked


def _from_joined(joined: Tensor, lengths: Tensor, restore: Callable[[Tensor, Tensor], Batch]) -> Rows:
    """From concatenated sequences [N, I]; `restore` takes the positions of their rows in the output, and the output."""
    order, sizes, index = _row_index(lengths, lengths.cumsum(0) - lengths, 1)
    index = index.to(joined.device)
    inverse = torch.empty_like(index)
    inverse[index] = torch.arange(index.shape[0], device=joined.device)
    expected = lengths.tolist()

    def align(values: Batch, name: str) -> Tensor:
        if not isinstance(values, (list, tuple)) or [len(value) for value in values] != expected:
            raise ArgumentError(f"{name} must be a list of tensors with the lengths of the input's sequences")
        return torch.cat(tuple(values)).index_select(0, index)

    return Rows(
        joined.index_select(0, index),
        sizes,
        len(expected),
        order.to(joined.device),
        functools.partial(restore, inverse),
        align,
    )


def _row_index(lengths: Tensor, starts: Tensor, stride: int) -> tuple[Tensor, Tensor, Tensor]:
    """The order of the sequences, the batch sizes, and the index of each packed row in the caller's data.

    Step t of sequence b is row `starts[b] + t * stride`.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    longest = int(lengths.max()) if lengths.shape[0] else 0
    steps = torch.arange(longest, device="cpu").unsqueeze(1)
    running = steps < lengths[order]  # [T, B]
    rows = starts[order] + stride * steps
    return order, running.sum(1), rows[running]
