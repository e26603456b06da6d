"""HDF5 files of Chainer: groups of arrays, read with everything refused that could reach outside of the file."""

import importlib
import io
import os
from collections.abc import Mapping
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import h5py as h5

import numpy as np

from ...errors import CheckpointError, ExtraMissingError, how_to_install
from ..output.atomic import open_for_replace
from ..reading.budget import Budget
from ..reading.content import Content, EntryMark, Progress
from ..reading.hdf5_reading import DEEPEST, Reader
from ..reading.keras_config import marks_by_name, parse_config
from ..reading.source import COMPRESS_BELOW, plain_dtype
from .chainer import LAYOUT, content_of, flat_arrays, is_none, problem

__all__ = ["LAYOUT", "load", "problem", "read", "recognise", "save", "write"]

NESTED = False
SUFFIXES = (".h5", ".hdf5")

_CONFIG, _VERSION = "model_config", "keras_version"
"""The attributes of a whole model of Keras."""
_WEIGHTS = "model_weights"


def load(
    path: str | os.PathLike[str], budget: Budget | None = None, data: memoryview | None = None
) -> dict[str, np.ndarray]:
    """Read the datasets of an HDF5 file by their paths without the leading slash.

    Args:
        path: the file.
        budget: counts the memory that is made; None: the usual one.
        data: the file's bytes, where it is a member of an archive; `path` then serves errors alone.

    Returns:
        Arrays by path, of plain numbers or text; empty datasets as `numpy.array(None, dtype=object)`.

    Raises:
        CheckpointError: the file is damaged, or has links, external or virtual storage, filters or types that a
            checkpoint has no use for.
        ImportError: h5py is missing.
    """
    return read_file(os.fspath(path), budget or Budget(path), data)[0].arrays


def read_file(where: str, budget: Budget, data: memoryview | None) -> tuple[Reader, dict[str, str]]:
    """Read the arrays of a file, and the texts that Keras attaches to it; see `load`."""
    h5py = _import_h5py()
    reader = Reader(h5py, where, budget, data)
    try:
        with h5py.File(where if data is None else io.BytesIO(data), "r") as file:
            reader.read_group(file)
            texts = {name: reader.text_attribute(file, name) for name in (_CONFIG, _VERSION)}
    except CheckpointError:
        raise
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError, MemoryError, IndexError) as error:
        raise CheckpointError(f"{where}: damaged HDF5 file: {error}") from error
    return reader, texts


def save(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    compression: int | None = 4,
    progress: Progress | None = None,
) -> None:
    """Write arrays by path as Chainer's `save_hdf5` does; the file is replaced in one step.

    Args:
        path: the file.
        arrays: arrays by path; slashes make groups; None becomes an empty dataset.
        compression: the level of deflate for arrays of more than one value and less than 16 MiB; None stores them uncompressed.
        progress: called with the bytes written.

    Raises:
        TypeError: an array of Python objects.
        ImportError: h5py is missing.
    """
    h5py = _import_h5py()
    with open_for_replace(path, progress=progress) as file:
        keeper = _ErrorKeeper(cast(io.BufferedRandom, file).raw)
        with h5py.File(keeper, "w") as target:
            for name, value in arrays.items():
                _write_dataset(h5py, target, name, np.asarray(value), compression)
                keeper.raise_error()
        keeper.raise_error()


def replace_values(
    file: IO[bytes], arrays: Mapping[str, np.ndarray], places: Mapping[str, tuple[int, str]], size: int
) -> None:
    """Overwrite the values of a file without the library; shapes and dtypes stay.

    Args:
        file: the file, open for writing.
        arrays: new values by path.
        places: where the values are, as `Content.places` has them.
        size: bytes of the file.

    Raises:
        CheckpointError: the values of an array are not in one piece, or the place is not one of the file.
    """
    for path, values in arrays.items():
        if path not in places:
            raise CheckpointError(
                f"{path}: its values are compressed or in several pieces; Keras writes them in one piece"
            )
        offset, dtype = places[path]
        data = values.astype(plain_dtype(dtype), casting="equiv", order="C").tobytes()
        if not 0 <= offset <= size - len(data):
            raise CheckpointError(f"{path}: its values are not inside of the file")
        file.seek(offset)
        file.write(data)


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is HDF5."""
    return head[:8] == b"\x89HDF\r\n\x1a\n"


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a file for people and for conversion; the configuration of a whole Keras model gives the GRUs' formulas."""
    reader, texts = read_file(os.fspath(path), budget, None)
    arrays = reader.arrays
    content = content_of(arrays, path, budget)
    content.places = reader.places
    if texts[_CONFIG]:
        config = parse_config(texts[_CONFIG].encode("utf-8", "replace"), f"{os.fspath(path)}: {_CONFIG}", budget)
        content.marks = _marks(arrays, marks_by_name(config, texts[_VERSION], budget))
    return content


def _marks(arrays: Mapping[str, np.ndarray], named: Mapping[str, Mapping[str, EntryMark]]) -> dict[str, EntryMark]:
    """The marks by the paths of groups: model_weights/TOP/.../LAYER/CELL/kernel, or .../LAYER/kernel.

    A cell may have another layer's name. A group that the configuration does not name has the mark of the layer of the model
    that it belongs to, if that is a program's, and otherwise the model's.
    """
    marks = {}
    for path in arrays:
        *home, _ = path.split("/")
        top = home[1] if len(home) > 1 and home[0] == _WEIGHTS else ""
        layers = named.get(top, {})
        found = [layers[group] for group in home[-2:] if group in layers]
        found += [named[""][""], *(layers[group] for group in home if group in layers and layers[group].problem)][::-1]
        marks["/".join(home)] = found[0]
    return marks


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write tensors, numbers, texts and None by their flat names."""
    arrays = flat_arrays(content, path)
    groups: set[str] = set()
    for name in arrays:
        pieces = name.split("/")
        groups.update("/".join(pieces[:count]) for count in range(1, len(pieces)))
        if any(piece in ("", ".", "..") or "\0" in piece for piece in pieces) or len(pieces) > DEEPEST:
            raise CheckpointError(
                f"{os.fspath(path)}: cannot be written: the name {name!r:.60} is not a path of groups in HDF5"
            )
    both = sorted(groups.intersection(arrays))
    if both:
        raise CheckpointError(f"{os.fspath(path)}: cannot be written: {both[0]!r} would be a group and an array")
    save(path, arrays, progress=progress)


class _ErrorKeeper:
    """A file that stores write errors until HDF5 closes it: HDF5 crashes the process on a full disk otherwise."""

    def __init__(self, file: io.RawIOBase):
        self._file = file
        self._error: OSError | None = None
        self.seek, self.tell, self.flush = file.seek, file.tell, file.flush
        self.read, self.readinto = file.read, file.readinto

    def write(self, data: memoryview) -> int:
        """Write all bytes; after an error, only report them as written."""
        rest = memoryview(data).cast("B")
        try:
            while len(rest) and self._error is None:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._error = error
        return len(data)

    def truncate(self, size: int) -> int:
        """Cut or lengthen the file, likewise."""
        try:
            return self._file.truncate(size) if self._error is None else size
        except OSError as error:
            self._error = error
            return size

    def raise_error(self) -> None:
        """Raise the stored error, if any."""
        if self._error is not None:
            raise self._error


def _import_h5py() -> ModuleType:
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ExtraMissingError(f"HDF5 files need h5py: {how_to_install('hdf5')}") from error


def _write_dataset(h5py: ModuleType, target: "h5.Group", name: str, array: np.ndarray, compression: int | None) -> None:
    if is_none(array, name):
        target.create_dataset(name, data=h5py.Empty("f"))
        return
    if array.dtype.kind == "U":
        encoded = np.char.encode(array, "utf-8")
        array = encoded.astype(h5py.string_dtype("utf-8", max(encoded.dtype.itemsize, 1)))
    # data that a reader will map must be stored uncompressed
    plain = array.size <= 1 or array.nbytes >= COMPRESS_BELOW
    target.create_dataset(name, data=array, compression=None if plain else compression)
