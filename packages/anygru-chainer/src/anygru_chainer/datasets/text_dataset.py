"""Lines of text files."""

from collections.abc import Callable, Sequence
from typing import Any

from ..dataset.base import DatasetMixin

__all__ = ["TextDataset"]


class TextDataset(DatasetMixin):
    """The lines of one or more text files, line i of all of them as example i (a text for one file, a tuple for several).

    Args:
        paths: path or list of paths.
        encoding, errors, newline: as in `open`, for all files or a list of one each.
        filter_func: function of a line of each file that says whether to take example i.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        encoding: str | Sequence[str | None] | None = None,
        errors: str | Sequence[str | None] | None = None,
        newline: str | Sequence[str | None] | None = None,
        filter_func: Callable[..., bool] | None = None,
    ) -> None:
        paths = [paths] if isinstance(paths, str) else list(paths)
        if not paths:
            raise ValueError("at least one text file must be specified")
        options = [_per_file(option, len(paths)) for option in (encoding, errors, newline)]
        columns = []
        for path, enc, err, end in zip(paths, *options, strict=True):
            with open(path, encoding=enc, errors=err, newline=end) as file:
                columns.append(list(file))
        if len({len(column) for column in columns}) > 1:
            raise ValueError("number of lines in files does not match")
        self._lines: list[Any] | None = [
            row for row in zip(*columns, strict=True) if filter_func is None or filter_func(*row)
        ]
        self._length = len(self._lines)

    def __len__(self) -> int:
        return self._length

    def close(self) -> None:
        """Forget the lines: no example can be read any more (ValueError)."""
        self._lines = None

    def get_example(self, i: int) -> Any:
        if self._lines is None:
            raise ValueError("the dataset has been closed")
        row = self._lines[i]
        return row[0] if len(row) == 1 else row


def _per_file(option: str | Sequence[str | None] | None, n_files: int) -> list[Any]:
    if isinstance(option, (list, tuple)):
        if len(option) != n_files:
            raise ValueError("length of encoding, errors and newline must match the number of files")
        return list(option)
    return [option] * n_files
