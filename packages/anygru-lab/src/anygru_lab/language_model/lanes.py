"""Documents of unequal length as batches without padding.

The batch has a fixed number of lanes. A lane reads documents one after another, and every training step takes the next
`window` symbols of every lane: truncated back-propagation that keeps the state between windows. If a document ends
inside a window, the next document of the lane begins there, from a zero state. A segment is the part of a document in
one window; segments are independent sequences. A training step is a ragged batch of segments, longest first, in the
form of `torch.nn.utils.rnn.PackedSequence`. Every step has the same number of symbols, and padding is not computed.

A long document is cut into spans, and several lanes can read spans of one document at the same time. Every span begins
with a zero state; the first input of a later span is the byte before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from .corpus import Document

BOUNDARY = 256  # the symbol before the first byte and after the last one of each document
SYMBOLS = 257
WINDOWS_PER_SPAN = 16


@dataclass(frozen=True)
class Batch:
    """Ragged sequences in packed form.

    inputs, targets: int64 [N], rows of all sequences that are still running at time 0, then at time 1, ...
    batch_sizes: int64 [T], the number of sequences at each time, not increasing: the longest sequence is first.
    slots: int64 [N], the index of each row in the window of all lanes, independent of the number of processes
        that share the lanes; None outside training.
    """

    inputs: Tensor
    targets: Tensor
    batch_sizes: Tensor
    slots: Tensor | None = None

    @property
    def rows(self) -> int:
        return int(self.batch_sizes[0]) if len(self.batch_sizes) else 0

    def to(self, device: torch.device) -> "Batch":
        """Copy the symbols to a device; batch sizes and slots stay on the CPU, where torch reads them."""
        return (
            self
            if device.type == "cpu"
            else replace(self, inputs=self.inputs.to(device), targets=self.targets.to(device))
        )


@dataclass(frozen=True)
class Segments:
    """The segments of the lanes within one window; arrays [S], longest segment first.

    slot: lane * window + steps before the segment in its window, counted over all lanes.
    carried: the segment starts from the state of its lane (otherwise from zero).
    last: the lane carries the state after this segment into the next window.
    """

    lane: np.ndarray
    start: np.ndarray
    length: np.ndarray
    slot: np.ndarray
    carried: np.ndarray
    last: np.ndarray

    def of_lanes(self, first: int, end: int) -> "Segments":
        """Return the segments of the lanes `first` to `end - 1`, renumbered from zero."""
        mine = (self.lane >= first) & (self.lane < end)
        columns = (self.start, self.length, self.slot, self.carried, self.last)
        return Segments(self.lane[mine] - first, *(column[mine] for column in columns))


class Stream:
    """Documents as one array of symbols: BOUNDARY, bytes, BOUNDARY, bytes, ..., BOUNDARY."""

    def __init__(self, documents: Sequence[Document]) -> None:
        boundary = np.array([BOUNDARY], dtype=np.int16)  # two bytes per symbol, as texts can be large
        parts = [boundary]
        for document in documents:
            parts += [np.frombuffer(document.data, dtype=np.uint8).astype(np.int16), boundary]
        self.symbols = torch.from_numpy(np.concatenate(parts))
        # A document of n bytes has n + 1 inputs: its opening boundary and its bytes. Targets are shifted by one.
        self.lengths = np.array([len(document) + 1 for document in documents], dtype=np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths

    def pack(self, starts: np.ndarray, lengths: np.ndarray, slots: np.ndarray | None = None) -> Batch:
        """Pack the pieces `symbols[start : start + length]`, which are sorted by decreasing length."""
        steps = np.arange(lengths[0] if len(lengths) else 0)[:, None]
        running = steps < lengths[None, :]
        places = torch.from_numpy((steps + starts[None, :])[running])
        batch_sizes = torch.from_numpy(running.sum(axis=1))
        packed_slots = None if slots is None else torch.from_numpy((steps + slots[None, :])[running])
        inputs, targets = self.symbols[places].long(), self.symbols[places + 1].long()
        return Batch(inputs, targets, batch_sizes, packed_slots)


class Lanes:
    """`count` lanes that read the documents endlessly, in a new random order for every epoch."""

    def __init__(self, stream: Stream, count: int, window: int, seed: int) -> None:
        self.count, self.window, self._seed = count, window, seed
        self._spans = _spans(stream, WINDOWS_PER_SPAN * window)
        self._epoch, self._taken = 0, 0
        self._order = self._shuffled()
        self._place = np.zeros(count, dtype=np.int64)
        self._end = np.zeros(count, dtype=np.int64)
        self._carries = np.zeros(count, dtype=bool)

    def next(self) -> Segments:
        """Advance all lanes by one window, `count * window` symbols."""
        segments = [segment for lane in range(self.count) for segment in self._walk(lane)]
        columns = list(map(np.array, zip(*segments, strict=True)))
        longest_first = np.argsort(-columns[2], kind="stable")
        return Segments(*(column[longest_first] for column in columns))

    def _walk(self, lane: int) -> list[tuple[int, int, int, int, bool, bool]]:
        segments = []
        room = self.window
        while room:
            if self._place[lane] == self._end[lane]:
                self._place[lane], self._end[lane] = self._take_span()
                self._carries[lane] = False
            start = int(self._place[lane])
            length = min(room, int(self._end[lane]) - start)
            slot = (lane + 1) * self.window - room
            room -= length
            segments.append((lane, start, length, slot, bool(self._carries[lane]), room == 0))
            self._place[lane] += length
            self._carries[lane] = True
        return segments

    def _take_span(self) -> tuple[int, int]:
        if self._taken == len(self._spans):
            self._epoch, self._taken = self._epoch + 1, 0
            self._order = self._shuffled()
        start, end = self._spans[self._order[self._taken]]
        self._taken += 1
        return start, end

    def _shuffled(self) -> np.ndarray:
        return np.random.default_rng([self._seed, self._epoch]).permutation(len(self._spans))

    def state(self) -> dict[str, Tensor]:
        """Return the state for `load_state`."""
        return {
            "place": torch.from_numpy(self._place.copy()),
            "end": torch.from_numpy(self._end.copy()),
            "carries": torch.from_numpy(self._carries.copy()),
            "queue": torch.tensor([self._epoch, self._taken]),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self._place = state["place"].numpy().copy()
        self._end = state["end"].numpy().copy()
        self._carries = state["carries"].numpy().copy()
        self._epoch, self._taken = state["queue"].tolist()
        self._order = self._shuffled()


def _spans(stream: Stream, longest: int) -> list[tuple[int, int]]:
    """Return begin and end of spans of at most `longest` symbols; a longer document is cut into about equal spans."""
    spans = []
    for start, length in zip(stream.starts.tolist(), stream.lengths.tolist(), strict=True):
        pieces = -(-length // longest)
        borders = [start + length * i // pieces for i in range(pieces + 1)]
        spans += list(zip(borders[:-1], borders[1:], strict=True))
    return spans
