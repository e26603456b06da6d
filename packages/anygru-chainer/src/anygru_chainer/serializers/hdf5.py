"""HDF5 files: one dataset for each path. They need h5py (the extra `anygru[hdf5]`)."""

import importlib.util
import os
from typing import Any

import numpy

from anygru import extend

from ..backends import _cpu
from ..link import Link
from ..serializer import Deserializer, Serializer
from ..types import NdArray
from . import npz

__all__ = ["HDF5Deserializer", "HDF5Serializer", "load_hdf5", "save_hdf5"]

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
    arrays = {key.strip("/"): value for key, value in obj.items()} if isinstance(obj, dict) else npz.serialize(obj)
    for key, value in arrays.items():
        _refuse_text(key, value)
    extend.hdf5_files.save(filename, arrays, compression)


class HDF5Deserializer(Deserializer):
    """Reads arrays from an h5py group.

    Args:
        group: the group; None for one that the file lacks.
        strict: raise KeyError for a name that is absent (ValueError for a group), instead of leaving the value as it is.
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
        return npz.assign(value, stored, key)
    if hasattr(value, "tensor"):
        return npz.assign(value, stored, key)
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


def _load_checkpoint(link: Link, path: str) -> None:
    if path.lower().endswith((".h5", ".hdf5")):
        load_hdf5(path, link)
        return
    model = "updater/model:main/"  # its place in a snapshot of a Trainer
    in_snapshot = any(name.startswith(model) for name in extend.chainer_files.load_npz(path))
    npz.load_npz(path, link, path=model if in_snapshot else "")


Link.__load_checkpoint__ = _load_checkpoint
