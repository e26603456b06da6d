"""The base classes of datasets and iterators, how examples become batches, and the folder of data sets.

anygru downloads nothing: an error names the missing file and the place to put it. Chainer 7.8.1 keeps its downloads in
`~/.chainer/dataset/_dl_cache`, under the MD5 sum of the address (`dataset/download.py`, read), so data that Chainer has
fetched are found.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy

from . import backend
from .backends import cuda
from .serializer import AbstractSerializer
from .types import DeviceSpec, NdArray

__all__ = [
    "Converter", "DatasetMixin", "Iterator", "cache_or_load_file", "cached_download", "concat_examples", "converter",
    "get_dataset_directory", "get_dataset_root", "set_dataset_root", "to_device",
]  # fmt: skip


class Examples(Protocol):
    """A collection with a length and an index for each example."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class DatasetMixin:
    """Slices and lists of indices for a dataset that defines `__len__` and `get_example(i)`."""

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, (list, numpy.ndarray)):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self) -> int:
        raise NotImplementedError

    def get_example(self, i: int) -> Any:
        """The example at i."""
        raise NotImplementedError


class Iterator:
    """Yields batches, which are lists of examples."""

    def __del__(self) -> None:
        self.finalize()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def finalize(self) -> None:
        """Release the iterator's resources; by default it has no resources."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        self.finalize()

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the state; nothing by default."""


_ARRAYS = (numpy.ndarray, cuda.ndarray)


class Converter:
    """Converts a batch to arrays: subclass it and define `__call__(batch, device)`."""

    def __call__(self, batch: Sequence[Any], device: DeviceSpec) -> Any:
        raise NotImplementedError("Concrete class must implement __call__.")


class _FunctionConverter(Converter):
    """A converter around a function, which gets the device as a `backend.Device`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"Can only wrap a callable. Actual: {type(function)}")
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) >= 2:
            args = (args[0], _device(args[1]), *args[2:])
        elif "device" in kwargs:
            kwargs["device"] = _device(kwargs["device"])
        return self._function(*args, **kwargs)


def converter() -> Callable[[Callable[..., Any]], Converter]:
    """A decorator that makes a converter of a function `(batch, device)`."""
    return _FunctionConverter


def _device(spec: DeviceSpec) -> Any:
    return None if spec is None else backend.get_device(spec)


def call_converter(converter: Callable[..., Any], batch: Sequence[Any], device: DeviceSpec) -> Any:
    """Call a converter; a plain function gets the device as a number (-1: CPU) or None."""
    if isinstance(converter, Converter):
        return converter(batch, device)
    if device is None:
        return converter(batch, None)
    return converter(batch, -1 if device.xp is numpy else device.device.id)


def to_device(device: DeviceSpec, x: Any) -> Any:
    """An array on a device; without a device the array itself."""
    device = _device(device)
    return x if device is None else device.send(x)


def _concat_examples(batch: Sequence[Any], device: DeviceSpec = None, padding: Any = None) -> Any:
    """Arrays of a list of examples: a tuple of them for tuples, a dictionary for dictionaries, one array otherwise.

    Args:
        batch: the examples (ValueError if there is none).
        device: the device of the arrays; None: they are not moved.
        padding: value behind the end of shorter arrays; a tuple or dictionary holds one for each column.
            Without it all arrays of a column must have one shape.
    """
    if not len(batch):
        raise ValueError("batch is empty")
    first = batch[0]
    if isinstance(first, tuple):
        paddings = padding if isinstance(padding, tuple) else [padding] * len(first)
        columns = [_concat_arrays([example[i] for example in batch], paddings[i]) for i in range(len(first))]
        return tuple(to_device(device, column) for column in columns)
    if isinstance(first, dict):
        by_key = padding if isinstance(padding, dict) else dict.fromkeys(first, padding)
        return {
            key: to_device(device, _concat_arrays([example[key] for example in batch], by_key[key])) for key in first
        }
    return to_device(device, _concat_arrays(batch, padding))


def _concat_arrays(arrays: NdArray, padding: Any) -> Any:
    # The names of this helper and the next are Chainer's (7.8.1); chainer-chemistry 0.7.1 imports them.
    if not isinstance(arrays[0], _ARRAYS):
        try:
            arrays = numpy.asarray(arrays)
        except ValueError as error:
            if not isinstance(arrays[0], list):
                raise
            # Lists of different lengths are a TypeError in Chainer 7.8.1 (recorded).
            raise TypeError(f"examples must be arrays, or lists of one length: {error}") from None
    if padding is not None:
        return _concat_arrays_with_padding(arrays, padding)
    return backend.get_array_module(arrays[0]).concatenate([array[None] for array in arrays])


def _concat_arrays_with_padding(arrays: NdArray, padding: Any) -> Any:
    shape = tuple(numpy.max([array.shape for array in arrays], axis=0)) if arrays[0].ndim else ()
    result = backend.get_array_module(arrays[0]).full((len(arrays), *map(int, shape)), padding, dtype=arrays[0].dtype)
    for i, array in enumerate(arrays):
        place = (i, *map(slice, array.shape))
        result[place] = array
    return result


concat_examples = _FunctionConverter(_concat_examples)


_dataset_root = os.environ.get("CHAINER_DATASET_ROOT", os.path.join(os.path.expanduser("~"), ".chainer", "dataset"))


def get_dataset_root() -> str:
    """The folder of all data sets: CHAINER_DATASET_ROOT, by default `~/.chainer/dataset`."""
    return _dataset_root


def set_dataset_root(path: str) -> None:
    """Set the folder of all data sets."""
    global _dataset_root
    _dataset_root = path


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """The folder of a data set, made if it is missing."""
    path = os.path.join(_dataset_root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """The path of a file that Chainer, or you, have downloaded from an address before.

    Raises:
        FileNotFoundError: the file is not there.
    """
    path = os.path.join(_dataset_root, "_dl_cache", hashlib.md5(url.encode(), usedforsecurity=False).hexdigest())
    if not os.path.exists(path):
        raise FileNotFoundError(f"anygru downloads nothing: fetch {url} yourself and save it as {path}")
    return path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """The content of a file: `loader(path)` if it exists; otherwise `creator(temporary path)`, and the file is moved to
    `path`."""
    if os.path.exists(path):
        return loader(path)
    try:
        os.makedirs(_dataset_root, exist_ok=True)
    except OSError as error:
        raise RuntimeError(f"cannot create dataset directory {_dataset_root}") from error
    with tempfile.TemporaryDirectory(dir=_dataset_root) as folder:
        temporary = os.path.join(folder, os.path.basename(path))
        content = creator(temporary)
        os.replace(temporary, path)
    return content
