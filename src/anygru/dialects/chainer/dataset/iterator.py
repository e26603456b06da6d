"""The base class of iterators."""

from __future__ import annotations

from typing import Any


class Iterator:
    """Gives batches, lists of examples, one after the other."""

    def __del__(self) -> None:
        self.finalize()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def finalize(self) -> None:
        """Give back what the iterator holds; nothing by default."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        self.finalize()

    def serialize(self, serializer: Any) -> None:
        """Save or load the state; nothing by default."""
