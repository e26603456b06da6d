"""The base class of devices."""

import contextlib
from collections.abc import Callable
from typing import Any

from ..types import NdArray


def convert_arrays(arrays: Any, convert: Callable[[Any], Any]) -> Any:
    """Apply `convert` to an array or to each array of a list or tuple (None stays None, one array is converted once)."""
    if not isinstance(arrays, (list, tuple)):
        return convert(arrays)
    seen: dict[int, Any] = {}
    for array in arrays:
        if array is not None and id(array) not in seen:
            seen[id(array)] = convert(array)
    return type(arrays)(None if array is None else seen[id(array)] for array in arrays)


class Device:
    """A place for arrays; see `chainer.get_device`."""

    xp: Any
    name: str
    supported_array_types: tuple[type, ...]

    def __str__(self) -> str:
        return self.name

    def __enter__(self) -> Any:
        raise RuntimeError("a Device is no context manager; use `with chainer.using_device(device):`")

    def __exit__(self, *args: Any) -> None:
        pass

    def __hash__(self) -> int:
        return hash(self.name)

    def create_context(self) -> Any:
        """The context manager of `chainer.using_device`."""
        return contextlib.nullcontext()

    def send(self, arrays: Any) -> Any:
        """Move an array, or each of a list or tuple, to this device (one that is there already is returned itself)."""
        return convert_arrays(arrays, self.send_array)

    def send_array(self, array: NdArray) -> Any:
        """Move one array to this device."""
        raise NotImplementedError

    def use(self) -> None:
        """Make this the current device."""

    def is_array_supported(self, array: NdArray) -> bool:
        """Whether the array lives on this device."""
        raise NotImplementedError
