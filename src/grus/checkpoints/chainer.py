"""Chainer's serialized objects: `.npz` of `save_npz` and snapshots, and HDF5 of `save_hdf5`.

Both are flat lists of arrays by path ("updater/model:main/rnn/0/w0"). A value that is None is an array of one None in
`.npz` and an empty dataset in HDF5; here it is always the array `numpy.array(None, dtype=object)`.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from typing import IO

import numpy as np

from grus.checkpoints.archive import Archive
from grus.checkpoints.atomic import open_for_replace
from grus.checkpoints.hdf5 import load_hdf5, save_hdf5
from grus.checkpoints.known_types import make_array
from grus.checkpoints.pickling import Call, Global, dump
from grus.checkpoints.source import MAP_FROM, Bytes, Cursor
from grus.checkpoints.unpickle import RestrictedUnpickler
from grus.errors import CheckpointError

__all__ = ["load_hdf5", "load_npz", "save_hdf5", "save_npz"]

_NPY_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{'descr': '([<>|=]?[biufcSUO][0-9]*|\?)', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,19}, ?)*\d{0,19})\),? ?\}\s*"
)

#: None as NumPy pickles it in an array of objects.
_NONE_ARRAY = Call(
    Global("numpy.core.multiarray", "_reconstruct"),
    (Global("numpy", "ndarray"), (0,), b"b"),
    (
        1,
        (),
        Call(Global("numpy", "dtype"), ("O8", False, True), (3, "|", None, None, None, -1, -1, 63)),
        False,
        [None],
    ),
)


def load_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read what `save_npz`, a snapshot or `numpy.savez` wrote.

    Returns:
        Arrays by name, of plain numbers or text; None as `numpy.array(None, dtype=object)`.

    Raises:
        CheckpointError: the archive is damaged or holds Python objects.
    """
    archive = Archive(path)
    arrays = {}
    for name in archive.names:
        if not name.endswith(".npy"):
            raise CheckpointError(f"{archive.where}: member {name!r} is no array (.npy)")
        large = archive.is_stored(name) and archive.size(name) >= MAP_FROM
        data = archive.view(name) if large else archive.read(name)
        arrays[name.removesuffix(".npy")] = _parse_npy(data, f"{archive.where}: {name}")
    return arrays


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray | None], compression: bool = True) -> None:
    """Write arrays as `save_npz` does; the file is replaced in one step.

    Args:
        path: the file; its name is taken as it is.
        arrays: arrays by name, of plain numbers or text; None, also as an array of one None, stays None.
        compression: deflate the arrays, as Chainer does unless told otherwise.

    Raises:
        TypeError: an array of Python objects.
    """
    method = zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED
    with open_for_replace(path) as file, zipfile.ZipFile(file, "w", method) as archive:
        for name, value in arrays.items():
            array = np.asarray(value)
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                _write_npy(member, array, name)


def _parse_npy(data: Bytes, place: str) -> np.ndarray:
    cursor = Cursor(data, place)
    if bytes(cursor.take(6, "the array's magic number")) != _NPY_MAGIC:
        cursor.fail("this is no NumPy array", 0)
    version = cursor.number("B", "the format's version"), cursor.number("B", "the format's version")
    if version not in ((1, 0), (2, 0), (3, 0)):
        cursor.fail(f"version {version} of NumPy's format, known are 1.0, 2.0 and 3.0")
    length = cursor.number("H" if version == (1, 0) else "I", "the length of the header")
    try:
        header = _HEADER.fullmatch(str(cursor.take(length, "the header"), "latin-1"))
        if header is None:
            cursor.fail("the header does not describe an array of plain numbers or text")
        dtype = np.dtype(header[1])
        shape = tuple(int(axis) for axis in header[3].split(",") if axis.strip())
        content = cursor.take(cursor.remaining, "the content")
        if dtype.kind == "O":
            return _read_none(content, shape, place)
        return make_array(content, dtype, shape, fortran=header[2] == "True")
    except CheckpointError as error:
        raise CheckpointError(str(error) if place in str(error) else f"{place}: {error}") from error
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{place}: {error}") from error


def _read_none(content: memoryview, shape: tuple[int, ...], place: str) -> np.ndarray:
    """An array of Python objects is read only if it is None."""
    value = RestrictedUnpickler(content, where=place).load()
    if shape != () or not isinstance(value, np.ndarray) or value.dtype.kind != "O":
        raise CheckpointError(f"{place}: an array of Python objects")
    return value


def _write_npy(file: IO[bytes], array: np.ndarray, name: str) -> None:
    if array.dtype.kind == "O":
        if array.shape != () or array[()] is not None:
            raise TypeError(f"{name}: an array of Python objects cannot be written, only numbers, text and None")
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": ()})
        dump(_NONE_ARRAY, file, 3)
        return
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
