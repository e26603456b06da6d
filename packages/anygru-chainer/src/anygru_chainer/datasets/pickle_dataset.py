"""Examples pickled one after the other in a file.

Reading a pickle can execute any code that its author chose, as in Chainer: open only files that you wrote or trust.
"""

import os
import pickle
import threading
from multiprocessing import util
from typing import Any, BinaryIO

from ..dataset.base import DatasetMixin

__all__ = ["PickleDataset", "PickleDatasetWriter", "open_pickle_dataset", "open_pickle_dataset_writer"]


class PickleDatasetWriter:
    """Writes examples for a PickleDataset into an open binary file, which is closed at the end of a `with` block."""

    def __init__(self, writer: BinaryIO, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
        self._writer = writer
        self._protocol = protocol

    def __enter__(self) -> "PickleDatasetWriter":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def write(self, x: Any) -> None:
        """Add an example."""
        pickle.dump(x, self._writer, protocol=self._protocol)

    def flush(self) -> None:
        """Have the file written so far."""
        self._writer.flush()


class PickleDataset(DatasetMixin):
    """The examples of an open binary file, each read when it is asked for.

    Warning:
        Examples are read by `pickle.load`, which can execute any code that the file's author chose.

    Args:
        reader: the file, with random access (ValueError without). Its method `after_fork`, if it has one, is called in each
            process that is forked.
    """

    def __init__(self, reader: Any) -> None:
        if not reader.seekable():
            raise ValueError("reader must support random access")
        self._reader = reader
        self._positions: list[int] = []
        reader.seek(0)
        while True:
            start = reader.tell()
            try:
                pickle.load(reader)
            except EOFError:
                break
            self._positions.append(start)
        self._share()

    def _share(self) -> None:
        """Take turns with other threads, and tell the reader of forks."""
        self._lock = threading.RLock()
        util.register_after_fork(self, PickleDataset._after_fork)

    def _after_fork(self) -> None:
        if callable(getattr(self._reader, "after_fork", None)):
            self._reader.after_fork()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def __enter__(self) -> "PickleDataset":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._positions)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._reader.close()

    def get_example(self, i: int) -> Any:
        with self._lock:
            self._reader.seek(self._positions[i])
            return pickle.load(self._reader)


class _Reader:
    """A file that each process opens for itself, so that none moves the place of another."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        file = open(self._path, "rb")  # noqa: SIM115  (the data set closes it)
        self.read, self.readinto, self.readline = file.read, file.readinto, file.readline
        self.seek, self.seekable, self.tell, self.close = file.seek, file.seekable, file.tell, file.close

    def after_fork(self) -> None:
        """Open the file again."""
        self.close()
        self._open()

    def __reduce__(self) -> Any:
        return _Reader, (self._path,)


def open_pickle_dataset(path: str | os.PathLike[str]) -> PickleDataset:
    """The examples of a file, which several processes may read at a time."""
    return PickleDataset(_Reader(path))


def open_pickle_dataset_writer(
    path: str | os.PathLike[str], protocol: int = pickle.HIGHEST_PROTOCOL
) -> PickleDatasetWriter:
    """A writer into a new file."""
    return PickleDatasetWriter(open(path, "wb"), protocol=protocol)
