"""`pack_padded_sequence` and `pad_packed_sequence` while a model is exported: ONNX has no packed rows, so the padded batch stays.

The number of packed rows depends on the lengths, and ONNX's GRU takes a padded batch with `sequence_lens`. While an export
lasts, a packed sequence is therefore the padded batch with its lengths, in the order in which it came.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NoReturn, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import rnn
from torch.nn.utils.rnn import PackedSequence

from ..errors import ArgumentError


class PaddedBatch(PackedSequence):
    """The result of `pack_padded_sequence` while a model is exported.

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
    """Like torch's `pad_packed_sequence`: the steps of the longest sequence, or `total_length`."""
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
    from anygru.onnx.packing import chosen

    return chosen("pack_padded_sequence")(input, lengths, batch_first, enforce_sorted)


def _pad_in_place(sequence, batch_first=False, padding_value=0.0, total_length=None):
    from anygru.onnx.packing import chosen

    return chosen("pad_packed_sequence")(sequence, batch_first, padding_value, total_length)


_REPLACED: dict[str, tuple[Callable[..., Any], Any]] = {
    "pack_padded_sequence": (pack, _pack_in_place),
    "pad_packed_sequence": (pad, _pad_in_place),
}
_lock = threading.Lock()
_exporting: list[int] = []
"""The threads that export, with the depth of their nested exports."""
_originals: dict[str, FunctionType] = {}
"""torch's functions under separate names, while any thread exports."""


def chosen(name: str) -> Callable[..., Any]:
    """The function that torch's name means in this thread."""
    function: Callable[..., Any] = _REPLACED[name][0] if threading.get_ident() in _exporting else _originals[name]
    return function


@contextlib.contextmanager
def padded() -> Iterator[None]:
    """While this lasts, torch's functions compute as `pack` and `pad` in this thread.

    A program may have imported them under other names, so their code is exchanged; the new code asks which thread runs it.
    """
    with _lock:
        if not _exporting:
            for name, (_, in_place) in _REPLACED.items():
                own = getattr(rnn, name)
                copy = FunctionType(own.__code__, own.__globals__, name, own.__defaults__, own.__closure__)
                _originals[name] = copy
                own.__code__ = in_place.__code__
        _exporting.append(threading.get_ident())
    try:
        yield
    finally:
        with _lock:
            _exporting.remove(threading.get_ident())
            if not _exporting:
                for name, original in _originals.items():
                    getattr(rnn, name).__code__ = original.__code__
