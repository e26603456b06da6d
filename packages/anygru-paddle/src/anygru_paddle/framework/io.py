"""`paddle.save` and `paddle.load`. Files are read by the safe reader: nothing in them is ever executed."""

import io
import os
import pickletools
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

from anygru.errors import CheckpointError
from anygru.extend import PER_OBJECT, Budget, read_regular
from anygru.extend import paddle_binary_files as binary_files
from anygru.extend import paddle_files as files

from ..base.core import expected_place
from ..tensor.operation import wrap
from ..tensor.tensor import Tensor

__all__ = ["load", "save"]


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.numpy() if isinstance(tensor, Tensor) else tensor.detach().cpu().numpy()


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_tensor(each) for each in value.values())
    if isinstance(value, (list, tuple, set)):
        return any(_holds_tensor(each) for each in value)
    return isinstance(value, torch.Tensor)


def _is_state_dict(obj: Any) -> bool:
    """A dict of tensors, perhaps with dicts of plain values: written as arrays with a table of the tensors' names."""
    return isinstance(obj, dict) and all(
        not _holds_tensor(value) if isinstance(value, dict) else isinstance(value, torch.Tensor)
        for value in obj.values()
    )


def _name(tensor: torch.Tensor) -> str:
    return tensor.name if isinstance(tensor, Tensor) else ""


def _packed(obj: Any) -> Any:
    """The contents of the file for `obj`."""
    if isinstance(obj, torch.nn.Module):
        raise ValueError("paddle do not support saving `paddle.nn.Layer` object; save layer.state_dict()")
    if isinstance(obj, torch.Tensor):
        return _name(obj), _array(obj)
    if isinstance(obj, dict):
        return type(obj)((key, _packed(value)) for key, value in obj.items()) if type(obj) is not dict else {
            key: _packed(value) for key, value in obj.items()
        }  # fmt: skip
    if isinstance(obj, list):
        return [_packed(each) for each in obj]
    if type(obj) is tuple:
        return tuple(_packed(each) for each in obj)
    return obj


def _state_dict(obj: dict[Any, Any]) -> dict[Any, Any]:
    table = {key: _name(value) for key, value in obj.items() if isinstance(value, torch.Tensor)}
    arrays = {key: _array(value) if isinstance(value, torch.Tensor) else value for key, value in obj.items()}
    return {**arrays, files.NAME_TABLE: table}


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Write tensors, and nested dicts, lists and tuples of them and of plain values, as Paddle writes them.

    Args:
        obj: the object to write; a layer's or optimizer's `state_dict()` most often.
        path: a file name (missing folders are created) or a binary file object.
        protocol: of pickle: 2, 3 or 4.
        configs: `pickle_protocol` is an old name of `protocol`; `use_binary_format=True` writes a tensor in the form of
            Paddle's programs, which `load` recognises; other arguments are refused.

    Raises:
        ValueError: for a layer, another protocol, or a path that names no file.
        NotImplementedError: with `use_binary_format=True` for an object that is not a tensor.
    """
    if "pickle_protocol" in configs:
        protocol = configs.pop("pickle_protocol")
        warnings.warn(
            "'pickle_protocol' is a deprecated argument. Please use 'protocol' instead.", UserWarning, stacklevel=2
        )
    binary = configs.pop("use_binary_format", False)
    for key in configs:
        raise ValueError(f"The additional config ({key}) of `paddle.save` is not supported.")
    if not isinstance(binary, bool):
        raise TypeError(f"Type of `use_binary_format` should be bool, but received {type(binary)}.")
    if binary and not isinstance(obj, torch.Tensor):
        raise NotImplementedError(
            f"When use_binary_format = True, `paddle.save`  expected Tensor, but received {type(obj)}."
        )
    if not isinstance(protocol, int):
        raise ValueError(f"The 'protocol' MUST be `int`, but received {type(protocol)}")
    if not 1 < protocol < 5:
        raise ValueError(f"Expected 1<'protocol'<5, but received protocol={protocol}")
    if isinstance(obj, dict) and not obj:
        warnings.warn("The input state dict is empty, no need to save.", UserWarning, stacklevel=2)
    content: Any = _array(obj) if binary else _state_dict(obj) if _is_state_dict(obj) and obj else _packed(obj)
    write: Callable[[Any, str], None] = binary_files.save_tensor if binary else partial(files.save, protocol=protocol)
    if not isinstance(path, (str, os.PathLike)):
        _save_to(path, partial(write, content))
        return
    name = os.fspath(path)
    if os.path.basename(name) == "":
        raise ValueError(
            "The input path MUST be format of dirname/filename [dirname\\filename in Windows system], but received "
            "filename is empty string."
        )
    if os.path.dirname(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    write(content, name)


@contextmanager
def _spare_file() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "content")


def _save_to(file: Any, write: Callable[[str], None]) -> None:
    if not hasattr(file, "write"):
        raise ValueError(f"paddle.save: path must be a file name or a binary file, got {type(file).__name__}")
    with _spare_file() as spare:
        write(spare)
        with open(spare, "rb") as source:
            shutil.copyfileobj(source, file)


def _is_tensor(value: Any) -> bool:
    """Whether a loaded value is how Paddle writes a tensor: (name, array)."""
    return (
        isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], np.ndarray)
    )


_DTYPES = [np.dtype(name) for name in ("?", "u1", "u2", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")]


class _Unpacking:
    """Tensors from the values of a file. Several references to one array, list or tuple stay references to one object.

    Args:
        where: the file, for errors.
        budget: counts each array that is copied.
    """

    def __init__(self, where: str, budget: Budget, return_numpy: bool) -> None:
        self._where, self._budget, self._return_numpy = where, budget, return_numpy
        # By id, the value (which must stay alive, or its id could be used again) and its result.
        self._made: dict[int, tuple[Any, Any]] = {}

    def tensor(self, array: np.ndarray, name: object) -> Any:
        """The tensor of an array; tensors of one array share its memory. A `name` that is not a text is ignored."""
        if self._return_numpy:
            return array
        if array.dtype not in _DTYPES:
            raise CheckpointError(
                f"{self._where}: an array of {array.dtype}, of which Paddle has no tensors; return_numpy=True keeps arrays"
            )
        if id(array) not in self._made:
            self._budget.take(array.nbytes)
            value = torch.from_numpy(np.array(array, copy=True))
            value = value.view(torch.bfloat16) if array.dtype == np.uint16 else value  # NumPy has no bfloat16
            self._made[id(array)] = array, value.to(expected_place().device)
        tensor = wrap(self._made[id(array)][1].detach())
        if isinstance(name, str) and name:
            tensor.name = name
        return tensor

    def tree(self, value: Any, arrays_too: bool) -> Any:
        """Replace (name, array) tuples by tensors, and arrays as well if `arrays_too`."""
        if _is_tensor(value):
            return self.tensor(value[1], value[0])
        if isinstance(value, np.ndarray) and arrays_too and value.dtype.kind in "biufc":
            return self.tensor(value, None)
        if not isinstance(value, (dict, list)) and type(value) is not tuple:
            return value
        if id(value) not in self._made:
            self._budget.take(PER_OBJECT)
            if isinstance(value, tuple):
                self._made[id(value)] = value, tuple([self.tree(each, arrays_too) for each in value])
            else:
                # A list or dict is changed in place, so it may contain itself.
                self._made[id(value)] = value, value
                for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
                    value[key] = self.tree(each, arrays_too)
        return self._made[id(value)][1]


def _holds_named(value: Any, seen: set[int]) -> bool:
    """Whether a tensor with a name is in a tree; `seen` are the ids of the containers searched before."""
    if _is_tensor(value):
        return True
    if not isinstance(value, (dict, list, tuple)) or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_holds_named(each, seen) for each in (value.values() if isinstance(value, dict) else value))


def load(path: Any, **configs: Any) -> Any:
    """Read a file that `save`, or Paddle itself, wrote.

    Args:
        path: a file name or a binary file object.
        configs: `return_numpy=True` gives arrays for tensors; `keep_name_table=True` keeps the table of names.

    Raises:
        ValueError: if there is no such file, or it is damaged or holds more than data (a CheckpointError).
        EOFError: if the file object is at its end.
    """
    if unknown := sorted(set(configs) - {"return_numpy", "keep_name_table", "params_filename", "model_filename"}):
        raise ValueError(f"The additional config ({unknown[0]}) of `paddle.load` is not supported.")
    return_numpy = bool(configs.get("return_numpy", False))
    if isinstance(path, (str, os.PathLike)):
        name = os.fspath(path)
        if not os.path.exists(name):
            raise ValueError(f"The ``path`` ({name}) to load model not exists.")
        if os.path.isdir(name):
            raise ValueError(f"The ``path`` ({name}) is a folder; paddle.load reads one file")
        budget = Budget(name)
        value = _read(name, budget)
    else:
        name = "paddle.load"
        budget = Budget(name)
        value = _load_from(path, budget)
    unpacking = _Unpacking(name, budget, return_numpy)
    table = value.get(files.NAME_TABLE) if isinstance(value, dict) else None
    if isinstance(table, dict):
        if not configs.get("keep_name_table", False):
            del value[files.NAME_TABLE]
        for key, each in value.items():
            if isinstance(each, np.ndarray):
                value[key] = unpacking.tensor(each, table.get(key))
    # Where Paddle finds tensors by name it keeps arrays; otherwise arrays become tensors.
    return unpacking.tree(value, not _holds_named(value, set()))


def _read(name: str, budget: Budget) -> Any:
    is_binary = binary_files.recognise(read_regular(name, 32))
    return binary_files.first_tensor(name, budget) if is_binary else files.load(name, budget)


def _load_from(file: Any, budget: Budget) -> Any:
    if not isinstance(file, io.IOBase) and not hasattr(file, "read"):
        raise ValueError(f"paddle.load: path must be a file name or a binary file, got {type(file).__name__}")
    content = file.read()
    if not content:  # loops over several objects in one file end by this error
        raise EOFError("Ran out of input")
    try:
        # genops reads one pickle and ignores the bytes after it.
        end = 1 + max(place for _, _, place in pickletools.genops(content) if place is not None)
    except ValueError:  # not a pickle: the reader raises the error
        end = len(content)
    if end < len(content):  # several objects in one file: the next `load` continues after this one
        file.seek(end - len(content), os.SEEK_CUR)
    with _spare_file() as spare:
        with open(spare, "wb") as target:
            target.write(content[:end])
        try:
            return _read(spare, budget)
        except CheckpointError as error:
            raise CheckpointError(str(error).replace(spare, "the file object")) from error
