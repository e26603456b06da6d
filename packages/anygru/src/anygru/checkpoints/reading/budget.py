"""One budget for all the memory that is made from one checkpoint.

Small files can ask for gigabytes in many ways: compressed members, strides of 0, one value referenced a million times.
So every allocation for a file's bytes is counted here, beforehand if its size is known.
"""

import os

from ...errors import ArgumentError, ArgumentTypeError, CheckpointError

FREE = 64 << 20
"""Bytes that may be allocated for any checkpoint without a limit, in addition to `RATIO`: 64 MiB."""
RATIO = 32
"""Bytes that may be allocated for each byte of the checkpoint's files, in addition to `FREE`."""

MOST_VALUES = 1 << 22
"""Allocations for any checkpoint without a limit, or with a small one: each takes about two microseconds for any size."""

PER_OBJECT = 512
"""Bytes of an array's objects, without its numbers."""


class Budget:
    """Counts the memory made from one checkpoint.

    The sum of all allocations, not the peak, is compared with the limit, so that no order of allocation gets around
    it.

    Args:
        path: the checkpoint, for errors.
        limit: bytes; None: `FREE` plus `RATIO` times the sizes of all files passed to `add_file`.
        contained: the process has its own limits, so that unchecked data may be passed to libraries.

    Raises:
        ArgumentTypeError: `limit` is not an integer.
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
        self._values, self._most = 0, max(MOST_VALUES, 0 if limit is None else limit // PER_OBJECT)

    def add_file(self, size: int) -> None:
        """Let the budget grow with a file of the checkpoint, unless the caller gave a limit."""
        if not self._fixed:
            self._limit += RATIO * size

    def take(self, count: int) -> None:
        """Count a value before it is made, with its bytes.

        Raises:
            CheckpointError: the total is now above the limit, or there are too many values.
        """
        self._used += count
        self._values += 1
        if self._used > self._limit or self._values > self._most:
            bound = f"{self._limit} bytes of memory" if self._used > self._limit else f"{self._most} values"
            raise CheckpointError(
                f"{self._where}: more than {bound} would be made from it: it is damaged, hostile, "
                f"or unusual; load_checkpoint(path, limit=...) and `anygru inspect --limit` accept more"
            )
