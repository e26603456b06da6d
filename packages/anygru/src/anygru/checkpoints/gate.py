"""The way of a command to a file that somebody else made."""

import os
from collections.abc import Collection
from typing import Any

from ..errors import CheckpointError
from .checkpoint import Checkpoint, load_checkpoint
from .reading.budget import Budget
from .reading.json_text import parse_json
from .reading.source import open_bytes


class Gate:
    """A file or folder that somebody else made: its path, its budget, and the process that reads it.

    Commands open no such file themselves. They ask its gate, so that the same bounds hold everywhere.

    Args:
        path: the file or folder.
        limit: the most bytes of memory to make from it, as for `load_checkpoint`.
        sandbox: read it in a separate process, as for `load_checkpoint`.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int | None = None, sandbox: bool = True) -> None:
        self.path, self.limit, self.sandbox = os.fspath(path), limit, sandbox

    @property
    def size(self) -> int:
        """Bytes of the file, or of all files below the folder."""
        if not os.path.isdir(self.path):
            return os.path.getsize(self.path)
        files = (os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names)
        return sum(os.lstat(file).st_size for file in files)

    def checkpoint(self, format: str | None = None, bidirectional: Collection[str] = ()) -> Checkpoint:
        """Read it as a checkpoint; arguments and errors are those of `load_checkpoint`."""
        return load_checkpoint(self.path, format, bidirectional=bidirectional, limit=self.limit, sandbox=self.sandbox)

    def texts(self) -> dict[str, str]:
        """Read it as a JSON object of texts.

        Raises:
            CheckpointError: it cannot be read, has other content, or is over the limit.
        """
        budget = Budget(self.path, self.limit)
        try:
            found: Any = parse_json(open_bytes(self.path, budget), budget)
        except CheckpointError:
            raise
        except ValueError as error:
            raise CheckpointError(f"{self.path}: cannot be read as a mapping: {error}") from error
        if not isinstance(found, dict) or not all(isinstance(text, str) and name for name, text in found.items()):
            raise CheckpointError(f'{self.path}: a mapping must be a JSON object of texts, {{"old": "new"}}')
        return found
