"""`mx.contrib.text.embedding`: vectors of words from local files, without downloads."""

import logging
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import data_dir
from ...ndarray.ndarray import NDArray
from ...ndarray.utils import array, zeros
from .vocab import UNKNOWN, Vocabulary

_registry: dict[str, type["_TokenEmbedding"]] = {}


def register(embedding_cls: type["_TokenEmbedding"]) -> type["_TokenEmbedding"]:
    """Register an embedding under its class name in lower case."""
    _registry[embedding_cls.__name__.lower()] = embedding_cls
    return embedding_cls


def create(embedding_name: str, **kwargs: Any) -> "_TokenEmbedding":
    """An embedding by its registered name.

    Raises:
        KeyError: for an unknown name.
    """
    if embedding_name.lower() not in _registry:
        raise KeyError(f"Cannot find embedding {embedding_name}; known: {', '.join(_registry)}")
    return _registry[embedding_name.lower()](**kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Names of files that MXNet downloads: an empty list here, since files are given by their paths."""
    if embedding_name is None:
        return {name: [] for name in _registry}
    return []


class _TokenEmbedding(Vocabulary):
    """A vector for each token."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._vec_len = 0
        self._idx_to_vec: NDArray | None = None

    @property
    def vec_len(self) -> int:
        """The length of a vector."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> NDArray | None:
        """The vectors by the number of the token, [tokens, vec_len]."""
        return self._idx_to_vec

    def _load_embedding(
        self, path: str, elem_delim: str, init_unknown_vec: Callable[..., NDArray], encoding: str = "utf8"
    ) -> None:
        """Read a file with a token and its vector in each line.

        Raises:
            ValueError: for a missing file.
            AssertionError: for vectors of another length.
        """
        path = os.path.expanduser(path)
        if not os.path.isfile(path):
            raise ValueError(
                f"`pretrained_file_path` must be a valid path to the pre-trained token embedding file: {path}"
            )
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        rows: list[list[str]] = []
        unknown: list[str] | None = None
        with open(path, encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                token, *elements = line.rstrip().split(elem_delim)
                if number == 1 and len(elements) == 1:
                    warnings.warn(f"At line 1 of {path}: a header, which is skipped.", stacklevel=3)
                    continue
                assert len(elements) > 1 or self._vec_len == 1, f"At line {number} of {path}: unexpected data format."
                if token == self.unknown_token and unknown is None:
                    unknown = elements
                elif token in self._token_to_idx:
                    warnings.warn(
                        f"At line {number} of {path}: a duplicate of {token!r}, which is skipped.", stacklevel=3
                    )
                    continue
                else:
                    self._idx_to_token.append(token)
                    self._token_to_idx[token] = len(self._idx_to_token) - 1
                    rows.append(elements)
                self._vec_len = self._vec_len or len(elements)
                assert len(elements) == self._vec_len, (
                    f"At line {number} of {path}: the vector has {len(elements)} numbers, others have {self._vec_len}."
                )
        table = np.zeros((len(self._idx_to_token), self._vec_len), np.float32)
        begin = len(self._idx_to_token) - len(rows)
        if rows:
            table[begin:] = np.array(rows, dtype=np.float32)
        if unknown is None:
            table[UNKNOWN] = init_unknown_vec(shape=self._vec_len).asnumpy().reshape(-1)
        else:
            table[UNKNOWN] = np.array(unknown, dtype=np.float32)
        self._idx_to_vec = array(table)

    def _of_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Keep the tokens of a vocabulary only."""
        if vocabulary is not None:
            vectors = _rows(self, vocabulary)
            self._take_tokens(vocabulary)
            self._idx_to_vec = array(vectors)

    def _take_tokens(self, vocabulary: Vocabulary) -> None:
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens

    def get_vecs_by_tokens(self, tokens: str | list[str], lower_case_backup: bool = False) -> NDArray:
        """The vectors of a token or a list; unknown tokens have the unknown token's vector.

        Args:
            tokens: a token or a list of tokens.
            lower_case_backup: whether to search for an unknown token in lower case.
        """
        assert self._idx_to_vec is not None, "the embedding has no vectors yet"
        wanted = tokens if isinstance(tokens, list) else [tokens]
        found = [self._token_to_idx.get(token, UNKNOWN) for token in wanted]
        if lower_case_backup:
            known = self._token_to_idx
            found = [known[t] if t in known else known.get(t.lower(), UNKNOWN) for t in wanted]
        rows = array(self._idx_to_vec.asnumpy()[found])
        return rows if isinstance(tokens, list) else rows[0]

    def update_token_vectors(self, tokens: str | list[str], new_vectors: NDArray) -> None:
        """Set the vectors of tokens.

        Raises:
            ValueError: for an unknown token.
        """
        assert self._idx_to_vec is not None, "The property `idx_to_vec` has not been properly set."
        wanted = tokens if isinstance(tokens, list) else [tokens]
        fits = new_vectors.size == len(wanted) * self.vec_len and new_vectors.shape[-1] == self.vec_len
        assert fits, f"new_vectors must be of shape {(len(wanted), self.vec_len)}, got {new_vectors.shape}"
        for token in wanted:
            if token not in self._token_to_idx:
                raise ValueError(
                    f"Token {token} is unknown. To update the embedding vector for an unknown token, please specify it "
                    f"explicitly as the `unknown_token` {self.unknown_token}."
                )
        values = self._idx_to_vec.asnumpy()
        values[[self._token_to_idx[token] for token in wanted]] = new_vectors.asnumpy().reshape(len(wanted), -1)
        self._idx_to_vec[:] = array(values)


def _rows(embedding: _TokenEmbedding, vocabulary: Vocabulary) -> np.ndarray:
    """The vectors of a vocabulary's tokens; the unknown token maps to the embedding's unknown vector."""
    tokens = [embedding.unknown_token, *vocabulary.idx_to_token[1:]]
    return embedding.get_vecs_by_tokens(tokens).asnumpy()


class _Pretrained(_TokenEmbedding):
    """Vectors in a file of the folder `embedding_root`."""

    def __init__(
        self,
        pretrained_file_name: str,
        embedding_root: str = os.path.join(data_dir(), "embeddings"),
        init_unknown_vec: Callable[..., NDArray] = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        folder = os.path.join(os.path.expanduser(embedding_root), type(self).__name__.lower())
        self._load_embedding(os.path.join(folder, pretrained_file_name), " ", init_unknown_vec)
        self._of_vocabulary(vocabulary)


@register
class GloVe(_Pretrained):
    """GloVe's vectors (Pennington et al. 2014) in the folder `embedding_root/glove/`."""

    def __init__(self, pretrained_file_name: str = "glove.840B.300d.txt", **kwargs: Any) -> None:
        super().__init__(pretrained_file_name, **kwargs)


@register
class FastText(_Pretrained):
    """FastText's vectors (Bojanowski et al. 2017) in the folder `embedding_root/fasttext/`."""

    def __init__(self, pretrained_file_name: str = "wiki.simple.vec", **kwargs: Any) -> None:
        super().__init__(pretrained_file_name, **kwargs)


class CustomEmbedding(_TokenEmbedding):
    """Vectors in a file of the user, with a token and its numbers in each line."""

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., NDArray] = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._of_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The concatenated vectors of several embeddings, for the tokens of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        super().__init__()
        parts = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        self._take_tokens(vocabulary)
        rows = [_rows(part, vocabulary) for part in parts]
        self._vec_len = sum(row.shape[1] for row in rows)
        self._idx_to_vec = array(np.concatenate(rows, axis=1))
