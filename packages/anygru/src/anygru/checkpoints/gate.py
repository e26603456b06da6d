"""The way to a file of a stranger."""

import hashlib
import io
import os
from collections.abc import Sequence
from typing import Any

from ..errors import CheckpointError
from .formats import checked_path, format_module, recognise
from .reading.budget import FREE, RATIO, Budget
from .reading.content import Content
from .reading.json_text import parse_json
from .reading.source import naming, open_bytes, read_regular
from .sandbox import can_contain, function_of_job, read_contained, run_contained


class Gate:
    """A file or folder of a stranger: its path, its budget, and the process that reads it.

    `load_checkpoint`, the commands and the writers open no such file themselves. They ask its gate, so that the same bounds
    hold everywhere.

    Args:
        path: the file or folder.
        limit: the most bytes of memory to make from it, as for `load_checkpoint`.
        sandbox: read it in a separate process, as for `load_checkpoint`.

    Raises:
        ArgumentTypeError: `path` is not a path, or `limit` not a number.
        ArgumentError: `limit` is negative.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int | None = None, sandbox: bool = False) -> None:
        self.path, self.limit, self.sandbox = checked_path(path), limit, sandbox
        self.budget()

    def budget(self) -> Budget:
        """Return a new count of the memory that is made from it."""
        return Budget(self.path, self.limit)

    @property
    def size(self) -> int:
        """Bytes of the file, or of all files below the folder."""
        if not os.path.isdir(self.path):
            return os.path.getsize(self.path)
        files = (os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names)
        return sum(os.lstat(file).st_size for file in files)

    def most(self, read: int) -> int:
        """Return the most bytes of memory to make from a number of bytes that are read."""
        return FREE + RATIO * read if self.limit is None else self.limit

    def content(self, format: str | None, budget: Budget) -> tuple[str, Content]:
        """Read it as a checkpoint; returns the format, by default by the first bytes, and the content.

        Raises:
            CheckpointError: damaged, hostile, of no known format, or over the limit.
        """
        name = format or recognise(self.path)
        with naming(self.path):
            if self.sandbox and can_contain(name):
                return name, read_contained(self.path, name, self.limit, budget)
            return name, format_module(name).read(self.path, budget)

    def start(self, most: int) -> bytes:
        """Return its first bytes; CheckpointError if it is not a regular file."""
        return read_regular(self.path, most)

    def bytes(self) -> memoryview:
        """Return its bytes; CheckpointError if it is not a regular file, or over the limit."""
        return open_bytes(self.path, self.budget())

    def digest(self) -> str:
        """Return the SHA-256 of the file as hexadecimal digits."""
        return hashlib.sha256(self.bytes()).hexdigest()

    def texts(self) -> dict[str, str]:
        """Read it as a JSON object of texts.

        Raises:
            CheckpointError: it cannot be read, has other content, or is over the limit.
        """
        budget = self.budget()
        try:
            found: Any = parse_json(open_bytes(self.path, budget), budget)
        except CheckpointError:
            raise
        except ValueError as error:
            raise CheckpointError(f"{self.path}: cannot be read as a mapping: {error}") from error
        if not isinstance(found, dict) or not all(isinstance(text, str) and name for name, text in found.items()):
            raise CheckpointError(f'{self.path}: a mapping must be a JSON object of texts, {{"old": "new"}}')
        return found

    def work(
        self, job: str, order: dict[str, Any], places: Sequence[str], memory: int, seconds: int
    ) -> tuple[dict[str, Any], memoryview]:
        """Do a piece of work on it: in a separate process with limits, or without `sandbox` in this one.

        Args:
            job, order, places, memory, seconds: as for `run_contained`; the order gets the "path", and "contained".

        Returns:
            The answer, and the bytes that the work wrote; nothing in them can be believed.

        Raises:
            CheckpointError: the work failed, went over its limits, or came to an end by a signal.
        """
        contained = self.sandbox and os.name == "posix"
        order = {**order, "path": self.path, "contained": contained}
        if contained:
            return run_contained(job, order, (self.path, *places), memory, seconds, Budget(self.path, memory))
        written = io.BytesIO()
        return function_of_job(job)(order)(written), written.getbuffer()
