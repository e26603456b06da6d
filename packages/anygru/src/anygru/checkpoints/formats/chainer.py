"""Chainer's serialized objects: `.npz` of `save_npz` and snapshots, and HDF5 of `save_hdf5`.

Both are flat lists of arrays by path ("updater/model:main/rnn/0/w0"). A value that is None is an array of one None in
`.npz` and an empty dataset in HDF5; here it is always the array `numpy.array(None, dtype=object)`.
"""

import os
import re
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from ...errors import CheckpointError
from ..layout import CheckpointLayout
from ..output.atomic import open_for_replace
from ..output.pickling import Global, PickledCall, dump
from ..reading.archive import Archive, leads_out
from ..reading.budget import Budget
from ..reading.content import Content, Progress, flatten
from ..reading.known_types import make_array
from ..reading.source import COMPRESS_BELOW, Bytes, Cursor, plain_dtype, plain_values
from ..reading.unpickle import RestrictedUnpickler
from ..stored import StoredTensor

NESTED = False
SUFFIXES = (".npz",)

_LONGEST_NAME = (1 << 16) - 1
"""Bytes; a zip archive has 16 bits for the length of a member's name."""


def _nstep(prefix: str) -> dict[str, Any]:
    return {
        "weight_ih": (prefix + "w0", prefix + "w1", prefix + "w2"),
        "weight_hh": (prefix + "w3", prefix + "w4", prefix + "w5"),
        "bias_ih": (prefix + "b0", prefix + "b1", prefix + "b2"),
        "bias_hh": (prefix + "b3", prefix + "b4", prefix + "b5"),
        "forbidden": (prefix + "w6",),
    }


LAYOUT = (
    CheckpointLayout(
        name="chainer.links.NStepGRU", cell=False, always_biased=True, **_nstep("{index}/"), separators="/."
    ),
    # one layer of an NStepGRU alone: the cell with the same formula
    CheckpointLayout(
        name="a layer of chainer.links.NStepGRU", cell=True, always_biased=True, **_nstep(""), separators="/."
    ),
    CheckpointLayout(
        name="chainer.links.GRU", cell=True, weight_ih=("W_r/W", "W_z/W", "W/W"),
        weight_hh=("U_r/W", "U_z/W", "U/W"), bias_ih=("W_r/b", "W_z/b", "W/b"), bias_hh=("U_r/b", "U_z/b", "U/b"),
        separators="/.", reset="before", blend="zn+(1-z)h", always_biased=True,
        remark="a StatefulGRU leaves the biases of U out of its first step after reset_state()",
    ),
)  # fmt: skip

_DTYPES = {
    "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)), "complex64", "complex128",
}  # fmt: skip

_LONGEST_HEADER = 10_000
"""NumPy's limit for the header of an array; headers of Chainer's files have about 100 bytes."""
_NPY_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{'descr': '([<>|=]?\w{1,12}|[|]?\?)', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,19}, ?)*\d{0,19})\),? ?\}\s*"
)

_NONE_ARRAY = PickledCall(
    Global("numpy.core.multiarray", "_reconstruct"),
    (Global("numpy", "ndarray"), (0,), b"b"),
    (
        1, (), PickledCall(Global("numpy", "dtype"), ("O8", False, True), (3, "|", None, None, None, -1, -1, 63)),
        False, [None],
    ),
)  # fmt: skip
"""None as NumPy pickles it in an array of objects."""


def load_npz(path: str | os.PathLike[str], budget: Budget | None = None) -> dict[str, np.ndarray]:
    """Read a file of `save_npz`, a snapshot or a file of `numpy.savez`.

    Args:
        path: the file.
        budget: counts the memory that is made; None: the usual one.

    Returns:
        Arrays by name, of plain numbers or text; None as `numpy.array(None, dtype=object)`.

    Raises:
        CheckpointError: the archive is damaged or holds Python objects.
    """
    arrays = {}
    budget = budget or Budget(path)
    with Archive(path, budget) as archive:
        for name in archive.names:
            if not name.endswith(".npy"):
                raise CheckpointError(f"{archive.where}: member {name!r} is not an array (.npy)")
            arrays[name.removesuffix(".npy")] = _parse_npy(archive.content(name), f"{archive.where}: {name}", budget)
    return arrays


def save_npz(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray | None],
    compression: bool = True,
    progress: Progress | None = None,
) -> None:
    """Write arrays as `save_npz` does; the file is replaced in one step.

    Args:
        path: the file; no ending is appended.
        arrays: arrays by name, of plain numbers or text; None, also as an array of one None, stays None.
        compression: deflate arrays of less than 16 MiB, as Chainer does with all by default.
        progress: called with the bytes written.

    Raises:
        TypeError: an array of Python objects.
    """
    method = zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED
    with open_for_replace(path, progress=progress) as file, zipfile.ZipFile(file, "w", method) as archive:
        for name, value in arrays.items():
            array = np.asarray(value)
            entry = zipfile.ZipInfo(name + ".npy")
            # data that a reader will map must be stored uncompressed
            entry.compress_type = zipfile.ZIP_STORED if array.nbytes >= COMPRESS_BELOW else method
            with archive.open(entry, "w", force_zip64=True) as member:
                _write_npy(member, array, name)


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is an archive of NumPy arrays."""
    if head[:4] == b"PK\x03\x04" and len(head) > 30:
        return head[30 : 30 + int.from_bytes(head[26:28], "little")].endswith(b".npy")
    return head[:4] == b"PK\x05\x06"


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a file for people and for conversion."""
    return content_of(load_npz(path, budget), path, budget)


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write tensors, numbers, texts and None by their flat names."""
    arrays = flat_arrays(content, path)
    for name in arrays:
        member = f"{name}.npy"
        if leads_out(member) or len(member.encode()) > _LONGEST_NAME:
            raise CheckpointError(
                f"{os.fspath(path)}: cannot be written: the name {name!r:.60} has no place in a zip archive"
            )
    save_npz(path, arrays, progress=progress)


def flat_arrays(content: Content, path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the contents of a flat file of arrays, by name."""
    flat = flatten(content.tree, os.fspath(path))
    return {name: leaf.values if isinstance(leaf, StoredTensor) else np.asarray(leaf) for name, leaf in flat.items()}


def content_of(arrays: Mapping[str, np.ndarray], path: str | os.PathLike[str], budget: Budget) -> Content:
    """Return numbers as tensors, text and None as themselves."""
    place = os.fspath(path)
    return Content(
        {
            name: StoredTensor.of(array)
            if array.dtype.kind in "biufc"
            else plain_values(array, f"{place}: {name}", budget)
            for name, array in arrays.items()
        }
    )


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if isinstance(leaf, StoredTensor):
        return f"Chainer's files hold no dtype {leaf.dtype}" if leaf.dtype not in _DTYPES else None
    if leaf is None or isinstance(leaf, bool | float | complex | str):
        return None
    if isinstance(leaf, int):
        return None if -(1 << 63) <= leaf < 1 << 63 else "the integer has more than 64 bits"
    return "Chainer's files hold arrays, numbers, text and None"


def _parse_npy(data: Bytes, place: str, budget: Budget) -> np.ndarray:
    cursor = Cursor(data, place)
    if bytes(cursor.take(6, "the array's magic number")) != _NPY_MAGIC:
        cursor.fail("this is not a NumPy array", 0)
    version = cursor.number("B", "the format's version"), cursor.number("B", "the format's version")
    if version not in ((1, 0), (2, 0), (3, 0)):
        cursor.fail(f"version {version} of NumPy's format, known are 1.0, 2.0 and 3.0")
    length = cursor.number("H" if version == (1, 0) else "I", "the length of the header")
    if length > _LONGEST_HEADER:
        cursor.fail(f"a header of {length} bytes; at most {_LONGEST_HEADER} are accepted")
    try:
        header = _HEADER.fullmatch(str(cursor.take(length, "the header"), "latin-1"))
        if header is None:
            cursor.fail("the header does not describe an array of plain numbers or text")
        dtype = plain_dtype(header[1])
        shape = tuple(int(axis) for axis in header[3].split(",") if axis.strip())
        content = cursor.take(cursor.remaining, "the content")
        if dtype.kind == "O":
            return _read_none(content, shape, place, budget)
        return make_array(content, dtype, shape, budget, fortran=header[2] == "True")
    except CheckpointError as error:
        raise CheckpointError(str(error) if place in str(error) else f"{place}: {error}") from error
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{place}: {error}") from error


def _read_none(content: memoryview, shape: tuple[int, ...], place: str, budget: Budget) -> np.ndarray:
    """An array of Python objects is read only if it is None."""
    value = RestrictedUnpickler(content, where=place, budget=budget).load()
    if shape != () or not isinstance(value, np.ndarray) or value.dtype.kind != "O":
        raise CheckpointError(f"{place}: an array of Python objects")
    return value


def is_none(array: np.ndarray, name: str) -> bool:
    """Whether an array represents None; TypeError if it holds other Python objects."""
    if array.dtype.kind != "O":
        return False
    if array.shape != () or array[()] is not None:
        raise TypeError(f"{name}: an array of Python objects cannot be written, only numbers, text and None")
    return True


def _write_npy(file: IO[bytes], array: np.ndarray, name: str) -> None:
    if is_none(array, name):
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": ()})
        dump(_NONE_ARRAY, file, 3)
        return
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
