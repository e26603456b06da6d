"""`gluon.contrib.data.text`: the WikiText corpora, from local files."""

import os

import numpy as np

from ....base import data_dir
from ....contrib.text.utils import count_tokens_from_str
from ....contrib.text.vocab import Vocabulary
from ....ndarray.ndarray import NDArray
from ....ndarray.utils import array
from ...data.dataset import Dataset

__all__ = ["WikiText103", "WikiText2"]

_END = "<eos>"


class _WikiText(Dataset):
    """Pieces of `seq_len` tokens of a corpus. The label of a piece is the piece that begins one token later.

    Args:
        root: the folder that holds the unpacked files, such as `wiki.train.tokens`.
        segment: "train", "validation" or "test".
        vocab: the vocabulary; made from the text if None.
        seq_len: tokens of a piece.

    Raises:
        FileNotFoundError: without the file.
    """

    _folder: str

    def __init__(
        self, root: str | None = None, segment: str = "train", vocab: Vocabulary | None = None, seq_len: int = 35
    ) -> None:
        folder = os.path.expanduser(root or os.path.join(data_dir(), "datasets", self._folder))
        name = {"train": "train", "validation": "valid", "test": "test"}[segment]
        path = os.path.join(folder, f"wiki.{name}.tokens")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path}: put the unpacked corpus there; anygru does not download")
        with open(path, encoding="utf8") as file:
            text = file.read()
        lines = (line.strip().split() for line in text.splitlines())
        tokens = [token for line in lines if line for token in (*line, _END)]
        counter = count_tokens_from_str(text)
        self._counter = counter
        self._vocab = Vocabulary(counter=counter, reserved_tokens=[_END]) if vocab is None else vocab
        numbers = np.array(self._vocab.to_indices(tokens), dtype="int32")
        count = (len(numbers) - 1) // seq_len
        self._data = array(numbers[: count * seq_len].reshape(count, seq_len), dtype="int32")
        self._label = array(numbers[1 : count * seq_len + 1].reshape(count, seq_len), dtype="int32")

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self._vocab

    @property
    def frequencies(self) -> dict[str, int]:
        """The number of occurrences of each token."""
        return self._counter

    def __getitem__(self, idx: int) -> tuple[NDArray, NDArray]:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


class WikiText2(_WikiText):
    """WikiText-2 (Merity et al. 2016)."""

    _folder = "wikitext-2"


class WikiText103(_WikiText):
    """WikiText-103 (Merity et al. 2016)."""

    _folder = "wikitext-103"
