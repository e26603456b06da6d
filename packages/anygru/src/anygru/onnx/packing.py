"""`pack_padded_sequence` and `pad_packed_sequence` while a model is exported: ONNX has no packed rows, so the padded batch stays.

The number of packed rows depends on the lengths, and ONNX's GRU takes a padded batch with `sequence_lens`. While an export
lasts, a packed sequence is therefore the padded batch with its lengths, in the order in which it came.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import rnn
from torch.nn.utils.rnn import PackedSequence

from ..errors import ArgumentError


class PaddedBatch(PackedSequence):
    """What `pack_padded_sequence` returns while a model is exported.

    Attributes:
        steps: [T, B, F].
        lengths: int64 [B], in steps.
        fill: the value of steps after a sequence's end, where it is known.
    """

    steps: Tensor
    lengths: Tensor
    fill: float | None

    @classmethod
    def of(cls, steps: Tensor, lengths: Tensor, fill: float | None = None) -> "PaddedBatch":
        batch: PaddedBatch = tuple.__new__(cls, (None, None, None, None))
        batch.steps, batch.lengths, batch.fill = steps, lengths, fill
        return batch

    def _refuse(self) -> NoReturn:
        raise ArgumentError(
            "ONNX has no packed rows: give a packed sequence to GRUs and to pad_packed_sequence only, and compute other layers "
            "on the padded batch"
        )

    data = batch_sizes = sorted_indices = unsorted_indices = property(_refuse)

    def __iter__(self) -> Iterator[Any]:
        self._refuse()

    def __getitem__(self, index: Any) -> Any:
        self._refuse()


def pack(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PaddedBatch:
    """As torch's `pack_padded_sequence`; the order of the batch stays, so it needs no sorting."""
    steps = input.transpose(0, 1) if batch_first else input
    lengths = torch.as_tensor(lengths).to(torch.int64)
    if lengths.dim() != 1:
        raise ArgumentError(f"lengths must be [B], got {list(lengths.shape)}")
    return PaddedBatch.of(steps, lengths)


def pad(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """As torch's `pad_packed_sequence`: as many steps as the longest sequence has, or `total_length`."""
    if not isinstance(sequence, PaddedBatch):
        raise ArgumentError("ONNX has no packed rows: pack the batch with pack_padded_sequence inside the model")
    steps, lengths = sequence.steps, sequence.lengths
    if sequence.fill != padding_value:
        inside = torch.arange(steps.shape[0], device=lengths.device)[:, None] < lengths
        steps = torch.where(inside.to(steps.device).unsqueeze(-1), steps, padding_value)
    if total_length is None:
        longest = cast(int, lengths.max().item())
        torch._check(longest >= 1)
        torch._check(longest <= steps.shape[0])
        steps = steps.narrow(0, 0, longest)
    elif total_length > steps.shape[0]:
        steps = F.pad(steps, (0, 0, 0, 0, 0, total_length - steps.shape[0]), value=padding_value)
    else:
        steps = steps[:total_length]
    return steps.transpose(0, 1) if batch_first else steps, lengths


def _pack_in_place(input, lengths, batch_first=False, enforce_sorted=True):
    from anygru.onnx.packing import pack

    return pack(input, lengths, batch_first, enforce_sorted)


def _pad_in_place(sequence, batch_first=False, padding_value=0.0, total_length=None):
    from anygru.onnx.packing import pad

    return pad(sequence, batch_first, padding_value, total_length)


@contextlib.contextmanager
def padded() -> Iterator[None]:
    """While this lasts, torch's functions compute as `pack` and `pad`, under every name by which a program imported them."""
    own = (rnn.pack_padded_sequence.__code__, rnn.pad_packed_sequence.__code__)
    rnn.pack_padded_sequence.__code__, rnn.pad_packed_sequence.__code__ = (
        _pack_in_place.__code__,
        _pad_in_place.__code__,
    )
    try:
        yield
    finally:
        rnn.pack_padded_sequence.__code__, rnn.pad_packed_sequence.__code__ = own
