"""One budget for all the memory that is made from one checkpoint.

Small files can ask for gigabytes in many ways: compressed members, strides of 0, one value referenced a million times.
So whatever makes memory from a file's bytes counts it here, before it is made where the amount is known.
"""

import os

from ...errors import ArgumentError, ArgumentTypeError, CheckpointError

FREE = 64 << 20
"""Bytes that may be made from any checkpoint where the caller sets no limit, beside those of `RATIO`: 64 MiB."""
RATIO = 32
"""Bytes that may be made for each byte of the checkpoint's files, beside `FREE`."""

PER_OBJECT = 512
"""Bytes that an array, its view of the file and the objects around it take, beside the numbers in it."""


class Budget:
    """Counts the memory made from one checkpoint.

    Nothing is given back: the sum is compared with the limit, not the peak, so that no order of making and dropping
    values gets around it.

    Args:
        path: the checkpoint, for errors.
        limit: bytes; None: `FREE` and `RATIO` times the size of every file that `add_file` is told of.
        contained: the process has limits of its own, so that libraries may be given what only they can refuse.

    Raises:
        ArgumentTypeError: `limit` is no integer.
        ArgumentError: `limit` is negative.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int | None = None, contained: bool = False):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise ArgumentTypeError(f"limit must be a number of bytes or None, got {type(limit).__name__}")
        if limit is not None and limit < 0:
            raise ArgumentError(f"limit must be at least 0 bytes, got {limit}")
        self._where = os.fspath(path)
        self.contained = contained
        self._fixed = limit is not None
        self._limit = FREE if limit is None else limit
        self._used = 0

    def add_file(self, size: int) -> None:
        """Let the budget grow with a file of the checkpoint, unless the caller gave a limit."""
        if not self._fixed:
            self._limit += RATIO * size

    def take(self, count: int) -> None:
        """Count bytes that are about to be made.

        Raises:
            CheckpointError: the total is now above the limit.
        """
        self._used += count
        if self._used > self._limit:
            raise CheckpointError(
                f"{self._where}: more than {self._limit} bytes of memory would be made from it: it is damaged, hostile, "
                f"or unusual; load_checkpoint(path, limit=...) and `anygru inspect --limit` accept more"
            )
