"""`mxnet.rnn.io`: sentences as numbers, in batches of equal lengths."""

import random
from bisect import bisect_left
from collections.abc import Hashable, Sequence

import numpy as np

from ..base import DtypeLike
from ..batches import DataBatch, DataDesc
from ..io import DataIter
from ..ndarray.utils import array

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences: Sequence[Sequence[Hashable]],
    vocab: dict | None = None,
    invalid_label: int = -1,
    invalid_key: Hashable = "\n",
    start_label: int = 0,
    unknown_token: Hashable = None,
) -> tuple[list[list[int]], dict]:
    """Convert sentences to numbers. Returns them and the number of each word.

    Args:
        sentences: lists of words.
        vocab: the number of each word; None numbers the words in the order of their occurrence.
        invalid_label: number of `invalid_key`, which no word gets.
        invalid_key: the key of padding.
        start_label: number of the first word.
        unknown_token: replaces words that `vocab` lacks. As in MXNet 1.9.1 it gets a new number for each of them (recorded).

    Raises:
        AssertionError: for a word that `vocab` lacks, without `unknown_token`.
    """
    following, is_new = start_label, vocab is None
    numbers = {invalid_key: invalid_label} if vocab is None else vocab
    coded: list[list[int]] = []
    for sentence in sentences:
        coded.append([])
        for word in sentence:
            if word not in numbers:
                assert is_new or unknown_token, f"Unknown token {word}"
                following += following == invalid_label
                word = unknown_token or word
                numbers[word] = following
                following += 1
            coded[-1].append(numbers[word])
    return coded, numbers


class BucketSentenceIter(DataIter):
    """Batches of encoded sentences for a language model: the label of a word is the next word.

    A sentence is padded with `invalid_label` to the length of the smallest possible bucket. Longer sentences are dropped.

    Args:
        sentences: lists of numbers.
        batch_size: sentences of a batch.
        buckets: lengths; by default lengths of at least `batch_size` sentences. Empty buckets are dropped.
        invalid_label: the padding value.
        data_name, label_name: names of the input and of the labels.
        dtype: dtype of both.
        layout: "NT" or "TN".
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[float]],
        batch_size: int,
        buckets: list[int] | None = None,
        invalid_label: float = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DtypeLike = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        buckets = sorted(buckets)
        filled: list[list] = [[] for _ in buckets]
        left_out = 0
        for sentence in sentences:
            bucket = bisect_left(buckets, len(sentence))
            if bucket == len(buckets):
                left_out += 1
                continue
            row = np.full((buckets[bucket],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            filled[bucket].append(row)
        # Printed (not a warning), even for no sentences, as in MXNet 1.9.1 (observed).
        print(f"WARNING: discarded {left_out} sentences longer than the largest bucket.")
        if layout.find("N") not in (0, 1):
            raise ValueError(f"Invalid layout {layout}: Must by NT (batch major) or TN (time major)")
        self.data = [np.asarray(rows, dtype=dtype) for rows in filled if rows]
        buckets = [length for length, rows in zip(buckets, filled, strict=True) if rows]
        self.buckets, self.invalid_label, self.dtype, self.layout = buckets, invalid_label, dtype, layout
        self.data_name, self.label_name = data_name, label_name
        self.major_axis = layout.find("N")
        self.default_bucket_key = max(buckets)
        shape = (batch_size, self.default_bucket_key)
        self.provide_data, self.provide_label = self._described(shape if self.major_axis == 0 else shape[::-1])
        self.idx = [
            (bucket, first)
            for bucket, rows in enumerate(self.data)
            # Sentences that do not fill a batch are dropped and not counted (MXNet 1.9.1, observed).
            for first in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _described(self, shape: tuple[int, ...]) -> tuple[list[DataDesc], list[DataDesc]]:
        names = (self.data_name, self.label_name)
        data, label = ([DataDesc(name, shape, layout=self.layout)] for name in names)
        return data, label

    def reset(self) -> None:
        """Restart: shuffle the batches by Python's random numbers, and the sentences of each bucket by NumPy's."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for rows in self.data:
            np.random.shuffle(rows)
            labels = np.full_like(rows, self.invalid_label)
            labels[:, :-1] = rows[:, 1:]
            self.nddata.append(array(rows, dtype=self.dtype))
            self.ndlabel.append(array(labels, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch. Its `bucket_key` is its length. Raises StopIteration after the last batch."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, first = self.idx[self.curr_idx]
        self.curr_idx += 1
        both = (self.nddata[bucket], self.ndlabel[bucket])
        data, label = (rows[first : first + self.batch_size] for rows in both)
        if self.major_axis == 1:
            data, label = data.T, label.T
        shown = self._described(data.shape)
        return DataBatch(
            [data], [label], pad=0, bucket_key=self.buckets[bucket], provide_data=shown[0], provide_label=shown[1]
        )
