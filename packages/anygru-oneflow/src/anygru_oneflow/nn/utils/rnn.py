"""Packed sequences: torch's, under OneFlow 0.9's narrower contract."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils import rnn

from ...framework.dressing import dress
from ...framework.dtype import translated
from ...framework.tensor import Tensor

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence(rnn.PackedSequence):
    """torch's, on OneFlow's tensors."""

    def to(self, *arguments: Any, **keywords: Any) -> "PackedSequence":
        return translated(super().to)(*arguments, **keywords)

    def cpu(self) -> "PackedSequence":  # type: ignore[override]
        return self.to("cpu")

    def cuda(self, *arguments: Any) -> "PackedSequence":
        return self.to(*(arguments or ("cuda",)))


def repacked(packed: rnn.PackedSequence) -> PackedSequence:
    """torch's packed sequence as OneFlow's."""
    return PackedSequence(*(dress(part) for part in packed))


def pack_padded_sequence(
    input: Tensor, lengths: Sequence[int] | torch.Tensor, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch [T, B, ...] with lengths (in steps, [B]) that never increase.

    Raises:
        AssertionError: enforce_sorted=False, which OneFlow 0.9 has not.
        RuntimeError: a length of 0, above the input's steps, or greater than the previous length.
    """
    assert enforce_sorted, "Only support enforce_sorted == True for now. Please sort the input by decreasing length."
    if len(lengths) != input.shape[0 if batch_first else 1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={input.shape[0 if batch_first else 1]})"
        )
    steps, longest = input.shape[1 if batch_first else 0], int(max(lengths))
    if longest > steps:  # torch would read past the end
        raise RuntimeError(f"lengths must be at most the {steps} steps of input, got {longest}")
    return repacked(rnn.pack_padded_sequence(input, torch.as_tensor(lengths), batch_first, enforce_sorted))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undo `pack_padded_sequence`: the padded batch, and the lengths as float32."""
    padded, lengths = rnn.pad_packed_sequence(sequence, batch_first, padding_value, total_length)
    # torch gives int64 (OneFlow 0.9.0, recorded).
    return dress(padded), dress(lengths.to(torch.float32))


def pad_sequence(sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0) -> Tensor:
    """Put sequences of different lengths into one padded batch."""
    return dress(rnn.pad_sequence(list(sequences), batch_first, padding_value))


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences given by decreasing length."""
    lengths = [len(sequence) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Undo `pad_sequence`: the sequences of a padded batch, each in its length."""
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(batch, lengths, strict=True)]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo `pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
