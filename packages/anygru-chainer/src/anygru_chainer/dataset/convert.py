"""From a list of examples to arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import backend
from ..backends import cuda
from ..types import DeviceSpec, NdArray

__all__ = ["Converter", "concat_examples", "converter", "to_device"]

_ARRAYS = (numpy.ndarray, cuda.ndarray)


class Converter:
    """Makes arrays of a batch: subclass it and define `__call__(batch, device)`."""

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
    """An array on a device; the array as it is if the device is None."""
    device = _device(device)
    return x if device is None else device.send(x)


def _concat_examples(batch: Sequence[Any], device: DeviceSpec = None, padding: Any = None) -> Any:
    """Arrays of a list of examples: a tuple of them for tuples, a dictionary for dictionaries, one array otherwise.

    Args:
        batch: the examples (ValueError if there is none).
        device: where to put the arrays; None to leave them where they are.
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
