"""`mx.contrib.text.vocab.Vocabulary`: tokens and their numbers, the most frequent first."""

from collections import Counter
from typing import Any

UNKNOWN = 0  # the number of the unknown token


class Vocabulary:
    """Tokens by number: unknown token, reserved tokens, then counted tokens by decreasing count and name.

    Args:
        counter: the number of occurrences of each token.
        most_freq_count: the most counted tokens to keep; None keeps all.
        min_freq: the least number of occurrences of a token that is kept.
        unknown_token: replaces every token that is not in the vocabulary.
        reserved_tokens: tokens that are always in the vocabulary.

    Raises:
        AssertionError: for a `min_freq` below 1, and for reserved tokens that are repeated or equal the unknown one.
    """

    def __init__(
        self,
        counter: Counter | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: str = "<unk>",
        reserved_tokens: list[str] | None = None,
    ) -> None:
        assert min_freq > 0, "`min_freq` must be set to a positive value."
        reserved = list(reserved_tokens or ())
        assert unknown_token not in reserved, "`reserved_token` cannot contain `unknown_token`."
        assert len(set(reserved)) == len(reserved), "`reserved_tokens` cannot contain duplicate reserved tokens."
        self._unknown_token = unknown_token
        self._reserved_tokens = reserved if reserved_tokens is not None else None
        self._idx_to_token = [unknown_token, *reserved]
        if counter is not None:
            assert isinstance(counter, Counter), "`counter` must be an instance of collections.Counter."
            taken = set(self._idx_to_token)
            ordered = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
            limit = len(counter) if most_freq_count is None else most_freq_count
            found = [token for token, count in ordered if count >= min_freq and token not in taken]
            self._idx_to_token += found[:limit]
        self._token_to_idx = {token: index for index, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[str, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[str]:
        """The token of each number."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> str:
        """The token that replaces unknown tokens."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[str] | None:
        """Tokens that every vocabulary contains."""
        return self._reserved_tokens

    def to_indices(self, tokens: str | list[str]) -> Any:
        """The number of a token, or a list of numbers."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN)

    def to_tokens(self, indices: int | list[int]) -> Any:
        """The token of a number, or a list of tokens.

        Raises:
            ValueError: for a number without a token.
        """
        for index in indices if isinstance(indices, list) else [indices]:
            if not isinstance(index, int) or index >= len(self._idx_to_token):
                raise ValueError(f"Token index {index} in the provided `indices` is invalid.")
        if isinstance(indices, list):
            return [self._idx_to_token[index] for index in indices]
        return self._idx_to_token[indices]
