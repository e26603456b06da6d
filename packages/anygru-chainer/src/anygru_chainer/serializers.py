"""Saving and loading objects: NumPy's `.npz` files, and HDF5 files, which need h5py (the extra `anygru[hdf5]`)."""

import importlib.util
import os
import shutil
import tempfile
from typing import Any

import numpy

from anygru import extend, load_checkpoint

from . import backend
from .backends import _cpu, cuda
from .link import Link
from .serializer import Deserializer, Serializer
from .types import NdArray

__all__ = [
    "DictionarySerializer", "HDF5Deserializer", "HDF5Serializer", "NpzDeserializer", "load_hdf5", "load_npz",
    "save_hdf5", "save_npz",
]  # fmt: skip


class DictionarySerializer(Serializer):
    """Puts arrays into a flat dictionary, by path.

    Args:
        target: the dictionary; by default a new dictionary.
        path: prefix of the names.
    """

    def __init__(self, target: dict[str, Any] | None = None, path: str = "") -> None:
        self.target: dict[str, Any] = {} if target is None else target
        self.path = path

    def __getitem__(self, key: str) -> "DictionarySerializer":
        return DictionarySerializer(self.target, f"{self.path}{key.strip('/')}/")

    def __call__(self, key: str, value: Any) -> Any:
        # Chainer's files store a parameter without values as an array of objects (7.8.1, seen).
        stored = numpy.asarray(None) if value is None else _cpu.to_cpu(value)
        self.target[self.path + key.lstrip("/")] = stored
        return value


def serialize(obj: Any) -> dict[str, Any]:
    """An object's arrays in a flat dictionary, by path."""
    serializer = DictionarySerializer()
    serializer.save(obj)
    return serializer.target


def save_npz(file: Any, obj: Any, compression: bool = True) -> None:
    """Save an object, or a dictionary of arrays, as `.npz`.

    Args:
        file: path, or a file open for writing bytes. A path is replaced in one step when all is written.
        obj: a Link, an Optimizer, a Trainer or another object with `serialize`; or a dictionary of arrays.
        compression: deflate the arrays.
    """
    arrays = dict(obj) if isinstance(obj, dict) else serialize(obj)
    if isinstance(file, (str, os.PathLike)):
        # A path object gets the suffix, as NumPy adds it; a string does not (Chainer 7.8.1, recorded).
        if not isinstance(file, str) and not os.fspath(file).endswith(".npz"):
            file = f"{os.fspath(file)}.npz"
        extend.chainer_files.save_npz(file, arrays, compression)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "saved.npz")
        extend.chainer_files.save_npz(path, arrays, compression)
        with open(path, "rb") as written:
            shutil.copyfileobj(written, file)


class NpzDeserializer(Deserializer):
    """Reads arrays from a dictionary (or an opened `.npz` file) by path.

    Args:
        npz: the arrays by name.
        path: prefix of the names.
        strict: raise KeyError for a name that is absent, instead of keeping the value.
        ignore_names: names to skip, or functions that return True for names to skip; one or a list.
    """

    def __init__(self, npz: Any, path: str = "", strict: bool = True, ignore_names: Any = None) -> None:
        self.npz = npz
        self.path = path
        self.strict = strict
        self.ignore_names = [] if ignore_names is None else ignore_names

    def __getitem__(self, key: str) -> "NpzDeserializer":
        return NpzDeserializer(self.npz, f"{self.path}{key.strip('/')}/", self.strict, self.ignore_names)

    def __call__(self, key: str, value: Any) -> Any:
        key = self.path + key.lstrip("/")
        if (not self.strict and key not in self.npz) or self._ignores(key):
            return value
        if key not in self.npz:
            raise KeyError(f"{key} is not a file in the archive")
        return assign(value, self.npz[key], key)

    def _ignores(self, key: str) -> bool:
        rules = self.ignore_names if isinstance(self.ignore_names, (list, tuple)) else [self.ignore_names]
        for rule in rules:
            if not (isinstance(rule, str) or callable(rule)):
                raise ValueError("ignore_names needs to be a callable, string or list of them.")
            if key == rule if isinstance(rule, str) else rule(key):
                return True
        return False


def assign(value: Any, stored: numpy.ndarray, key: str) -> Any:
    """The stored array in the form of `value`: written into `value` if that is an array, converted to its type otherwise.

    Raises:
        ValueError: an array of another shape. TypeError: a number that the type cannot hold safely.
    """
    if stored.dtype == object and stored[()] is None:
        return None
    if value is None:
        return numpy.array(stored)
    if isinstance(value, numpy.ndarray):
        numpy.copyto(value, stored)
        return value
    if isinstance(value, cuda.ndarray):
        backend.copyto(value, stored.astype(value.dtype, copy=False))
        return value
    kind = type(value)
    is_number = numpy.issubdtype(stored.dtype, numpy.number)
    is_int = numpy.issubdtype(stored.dtype, numpy.integer) and kind is int
    if is_number and not is_int and not numpy.can_cast(stored.dtype, kind, casting="safe"):
        raise TypeError(
            f"{key}: Cannot safely deserialize from numpy array with dtype={stored.dtype} into a variable of type {kind}."
        )
    return kind(stored)


def load_npz(file: Any, obj: Any, path: str = "", strict: bool = True, ignore_names: Any = None) -> None:
    """Load an object from `.npz`. No code of the file is run (`allow_pickle=False`).

    Args:
        file: path, or a file open for reading bytes.
        obj: the object to load into.
        path: prefix of the names in the file, such as "updater/model:main/" for the model of a snapshot.
        strict: raise KeyError for a name that the file lacks.
        ignore_names: names of values to leave unchanged; see `NpzDeserializer`.

    Raises:
        FileNotFoundError: there is no such file.
        KeyError: a name is absent. ValueError: an array of another shape.
        anygru.errors.CheckpointError: a damaged file, or a file with Python objects.
    """
    if isinstance(file, (str, os.PathLike)):
        os.stat(file)  # FileNotFoundError
        arrays = extend.chainer_files.load_npz(file)
    else:
        with tempfile.TemporaryDirectory() as folder:
            copied = os.path.join(folder, "loaded.npz")
            with open(copied, "wb") as target:
                shutil.copyfileobj(file, target)
            arrays = {name: numpy.array(array) for name, array in extend.chainer_files.load_npz(copied).items()}
    NpzDeserializer(arrays, path, strict, ignore_names).load(obj)


_available = importlib.util.find_spec("h5py") is not None


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise RuntimeError(
            "h5py is not installed on your environment.\nPlease install h5py to activate hdf5 serializers.\n\n"
            "  $ pip install anygru[hdf5]"
        ) from error
    return h5py


def _refuse_text(key: str, array: NdArray) -> None:
    if getattr(array, "dtype", None) is not None and array.dtype.kind == "U":
        raise TypeError(f"{key}: Chainer's HDF5 files hold no text; save it as npz, or encode it to bytes")


class HDF5Serializer(Serializer):
    """Puts arrays into an h5py group.

    Args:
        group: the group.
        compression: level of deflation, 0 to 9.
    """

    def __init__(self, group: Any, compression: int | None = 4) -> None:
        self._h5py = _h5py()
        self.group = group
        self.compression = compression

    def __getitem__(self, key: str) -> "HDF5Serializer":
        return HDF5Serializer(self.group.require_group(f"{self.group.name}/{key}"), self.compression)

    def __call__(self, key: str, value: Any) -> Any:
        if value is None:
            self.group.create_dataset(key, data=self._h5py.Empty("f"))
        else:
            array = _cpu.to_cpu(value)
            _refuse_text(key, array)
            self.group.create_dataset(key, data=array, compression=self.compression if array.size > 1 else None)
        return value


def save_hdf5(filename: str, obj: Any, compression: int | None = 4) -> None:
    """Save an object, or a dictionary of arrays, as HDF5; the file is replaced in one step.

    Args:
        filename: path.
        obj: as for `save_npz`.
        compression: level of deflation, 0 to 9.
    """
    _h5py()
    arrays = {key.strip("/"): value for key, value in obj.items()} if isinstance(obj, dict) else serialize(obj)
    for key, value in arrays.items():
        _refuse_text(key, value)
    extend.hdf5_files.save(filename, arrays, compression)


class HDF5Deserializer(Deserializer):
    """Reads arrays from an h5py group.

    Args:
        group: the group; None for a group that the file lacks.
        strict: raise KeyError for a name that is absent (ValueError for a group), instead of keeping the value.
    """

    def __init__(self, group: Any, strict: bool = True) -> None:
        _h5py()
        self.group = group
        self.strict = strict

    def __getitem__(self, key: str) -> "HDF5Deserializer":
        inner = None if self.group is None else self.group.get(key.strip("/"))
        return HDF5Deserializer(inner, self.strict)

    def __call__(self, key: str, value: Any) -> Any:
        key = key.strip("/")
        if self.group is None and self.strict:
            raise ValueError(f"Inexistent group is specified (of {key!r})")
        if self.group is None or (not self.strict and key not in self.group):
            return value
        dataset = self.group[key]
        return _assign(value, None if dataset.shape is None else numpy.asarray(dataset), key)


class _FlatGroup:
    """The arrays of a whole file as if they were an h5py group."""

    def __init__(self, arrays: dict[str, numpy.ndarray], path: str = "") -> None:
        self._arrays = arrays
        self._path = path

    def get(self, key: str) -> "_FlatGroup | None":
        path = f"{self._path}{key}/"
        return _FlatGroup(self._arrays, path) if any(name.startswith(path) for name in self._arrays) else None

    def __contains__(self, key: str) -> bool:
        return self._path + key in self._arrays

    def __getitem__(self, key: str) -> Any:
        array = self._arrays[self._path + key]
        return _Empty if array.dtype == object else array


class _Empty:
    shape = None


def _assign(value: Any, stored: numpy.ndarray | None, key: str) -> Any:
    if stored is None:
        return None
    if value is None or isinstance(value, numpy.ndarray):
        if value is not None and value.shape != stored.shape:
            raise TypeError(f"{key}: Can't broadcast {stored.shape} -> {value.shape}")
        if value is not None:  # HDF5 converts between all numbers
            stored = stored.astype(value.dtype, copy=False)
        return assign(value, stored, key)
    if hasattr(value, "tensor"):
        return assign(value, stored, key)
    return type(value)(stored)


def load_hdf5(filename: str, obj: Any) -> None:
    """Load an object from HDF5.

    Raises:
        FileNotFoundError: there is no such file.
        KeyError, ValueError: a dataset or a group is absent. TypeError: an array of another shape.
        anygru.errors.CheckpointError: a damaged file.
    """
    _h5py()
    os.stat(filename)  # FileNotFoundError
    HDF5Deserializer(_FlatGroup(extend.hdf5_files.load(filename))).load(obj)


def _load_checkpoint(link: Link, path: str, sandbox: bool = True) -> None:
    if path.lower().endswith((".h5", ".hdf5")):
        file = load_checkpoint(path, "hdf5", sandbox=sandbox)
        empty = dict.fromkeys(file.values, numpy.array(None, dtype=object))
        HDF5Deserializer(_FlatGroup({name: each.values for name, each in file.stored.items()} | empty)).load(link)
        return
    model = "updater/model:main/"  # its place in a snapshot of a Trainer
    in_snapshot = any(name.startswith(model) for name in extend.chainer_files.load_npz(path))
    load_npz(path, link, path=model if in_snapshot else "")


Link.__load_checkpoint__ = _load_checkpoint
