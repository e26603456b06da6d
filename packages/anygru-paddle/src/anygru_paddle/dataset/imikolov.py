"""Sentences of the Penn treebank, as n words each or as pairs of shifted sentences. Source: Paddle 2.6's pages, recorded."""

import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from . import common
from .imdb import Words, numbered

__all__ = ["DataType", "build_dict", "test", "train"]

URL = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
MD5 = "30177ea32e27c525793142b6bf2c8e2d"
Reader = Callable[[], Iterator[tuple[Any, ...]]]


class DataType:
    """The items of a reader: `NGRAM`, n words; `SEQ`, a sentence and the same one step on."""

    NGRAM = 1
    SEQ = 2


def _sentences(part: str) -> Iterator[list[bytes | str]]:
    with tarfile.open(common.download(URL, "imikolov", MD5)) as archive:
        file = archive.extractfile(f"./simple-examples/data/ptb.{part}.txt")
        assert file is not None
        for line in file:
            yield [*line.strip().split()]


def build_dict(min_word_freq: int = 50) -> Words:
    """Numbers for the words that occur more than `min_word_freq` times, frequent ones first; the last one is for '<unk>'."""
    counts: Counter[Any] = Counter()
    for part in ("train", "valid"):
        for words in _sentences(part):
            counts.update([*words, "<s>", "<e>"])
    del counts["<unk>"]
    return numbered(counts, min_word_freq)


def _reader(part: str, word_idx: Words, n: int, data_type: int) -> Reader:
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise AssertionError("Unknown data type")
    if data_type == DataType.NGRAM and n < 0:
        raise AssertionError("Invalid gram length")
    unknown = word_idx["<unk>"]

    def reader() -> Iterator[tuple[Any, ...]]:
        for words in _sentences(part):
            if data_type == DataType.NGRAM:
                numbers = [word_idx.get(word, unknown) for word in ("<s>", *words, "<e>")]
                yield from (tuple(numbers[end - n : end]) for end in range(n, len(numbers) + 1))
                continue
            numbers = [word_idx.get(word, unknown) for word in words]
            if n <= 0 or len(numbers) < n:
                yield [word_idx["<s>"], *numbers], [*numbers, word_idx["<e>"]]

    return reader


def train(word_idx: Words, n: int, data_type: int = DataType.NGRAM) -> Reader:
    """A reader of the sentences for training."""
    return _reader("train", word_idx, n, data_type)


def test(word_idx: Words, n: int, data_type: int = DataType.NGRAM) -> Reader:  # noqa: PT028
    """A reader of the sentences for tests."""
    return _reader("valid", word_idx, n, data_type)
