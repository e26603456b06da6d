"""NumPy's `.npz` files: one array for each path."""

import os
import shutil
import tempfile
from typing import Any

import numpy

from anygru import extend

from .. import backend
from ..backends import _cpu, cuda
from ..serializer import Deserializer, Serializer

__all__ = ["DictionarySerializer", "NpzDeserializer", "load_npz", "save_npz"]


class DictionarySerializer(Serializer):
    """Puts arrays into a flat dictionary, by path.

    Args:
        target: the dictionary; a new one by default.
        path: prefix of the names.
    """

    def __init__(self, target: dict[str, Any] | None = None, path: str = "") -> None:
        self.target: dict[str, Any] = {} if target is None else target
        self.path = path

    def __getitem__(self, key: str) -> "DictionarySerializer":
        return DictionarySerializer(self.target, f"{self.path}{key.strip('/')}/")

    def __call__(self, key: str, value: Any) -> Any:
        # An array of objects: Chainer's files hold a parameter without values so (7.8.1, seen).
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
        obj: a Link, an Optimizer, a Trainer or whatever has `serialize`; or a dictionary of arrays.
        compression: deflate the arrays.
    """
    arrays = dict(obj) if isinstance(obj, dict) else serialize(obj)
    if isinstance(file, (str, os.PathLike)):
        # A path gets the ending, as NumPy adds it; a text stays as it is (Chainer 7.8.1, recorded).
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
        strict: raise KeyError for a name that is absent, instead of leaving the value as it is.
        ignore_names: names, or functions that say of a name whether to leave it; one or a list of them.
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
        anygru.errors.CheckpointError: a damaged file, or one that holds Python objects.
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
