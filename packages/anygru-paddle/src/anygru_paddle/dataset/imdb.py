"""Film reviews as numbers of words, and 0 for a good one, 1 for a bad one. Source: Paddle 2.6's pages, recorded."""

import re
import string
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from . import common

__all__ = ["build_dict", "test", "train", "word_dict"]

URL = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"
Words = dict[bytes | str, int]
Reader = Callable[[], Iterator[tuple[list[int], int]]]


def _place(word: tuple[Any, int]) -> tuple[int, bytes]:
    """The order of words; where '<s>' is as frequent as one of the words, which are bytes, Paddle cannot sort them."""
    return -word[1], word[0] if isinstance(word[0], bytes) else word[0].encode()


def numbered(counts: Counter[bytes], cutoff: int) -> Words:
    """Numbers for the words that occur more than `cutoff` times, frequent ones first; the last one is for '<unk>'."""
    kept = sorted((word for word in counts.items() if word[1] > cutoff), key=_place)
    return {**{word: number for number, (word, _) in enumerate(kept)}, "<unk>": len(kept)}


def tokenize(pattern: re.Pattern[str]) -> Iterator[list[bytes]]:
    """The words of every review with a matching name in the archive, in lower case, without punctuation."""
    with tarfile.open(common.download(URL, "imdb", MD5)) as archive:
        for member in archive:
            if pattern.match(member.name) and (file := archive.extractfile(member)) is not None:
                yield file.read().rstrip(b"\n\r").translate(None, string.punctuation.encode("latin-1")).lower().split()


def build_dict(pattern: re.Pattern[str], cutoff: int) -> Words:
    """Numbers for the words of reviews; see `numbered`."""
    return numbered(Counter(word for words in tokenize(pattern) for word in words), cutoff)


def word_dict() -> Words:
    """Numbers for the words that occur more than 150 times."""
    return build_dict(re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$"), 150)


def _reader(part: str, word_idx: Words) -> Reader:
    unknown, reviews = word_idx["<unk>"], []
    for label, kind in enumerate(("pos", "neg")):
        for words in tokenize(re.compile(rf"aclImdb/{part}/{kind}/.*\.txt$")):
            reviews.append(([word_idx.get(word, unknown) for word in words], label))
    return lambda: iter(reviews)


def train(word_idx: Words) -> Reader:
    """A reader of the reviews for training."""
    return _reader("train", word_idx)


def test(word_idx: Words) -> Reader:
    """A reader of the reviews for tests."""
    return _reader("test", word_idx)
