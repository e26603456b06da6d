"""`oneflow.save` and `oneflow.load`: the core's `oneflow_files` with this dialect's tensors and modules."""

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from anygru.errors import CheckpointError
from anygru.extend import Budget, Global, Pending, PickledCall, StoredTensor, read_regular, torch_files
from anygru.extend import oneflow_files as files
from anygru.parallel import world

from .. import sbp as sbp_module
from ..nn.modules.module import Module
from .dressing import dress
from .dtype import DeviceLike, Size, dtype, of_torch
from .generator import Generator
from .placement import placement
from .tensor import Parameter, Tensor

__all__ = ["load", "save"]

HERE = "anygru_oneflow"
_HEAD = 512  # bytes by which a file is recognised
# Attributes of torch's modules that OneFlow's do not have.
_TORCH_ONLY = (
    *(name for name in vars(torch.nn.Module()) if name.endswith("_hooks") or "_hooks_" in name),
    "_flat_weight_refs",
)


def save(obj: Any, path: str | os.PathLike[str], global_dst_rank: int | None = None) -> None:
    """Save tensors, modules and plain values, nested at will, as a folder that OneFlow reads.

    Args:
        global_dst_rank: the rank of the process that writes; needed if a tensor is global.

    Raises:
        AssertionError: a global tensor without global_dst_rank.
        TypeError: a value of another kind.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, Tensor):
            assert value.is_local or global_dst_rank is not None, (
                "global_dst_rank must be given to save a global tensor"
            )
            return _file_tensor(value)
        if isinstance(value, Module):
            return _module_call(value)
        if isinstance(value, Generator):
            state = {"device": "auto:0" if value._is_auto else "cpu:0", "state": value.get_state()}
            return PickledCall(Global("oneflow._oneflow_internal", "Generator"), (), state, new=True)
        if isinstance(value, dtype):
            return PickledCall(Global("oneflow._oneflow_internal", "dtype"), (), _DTYPE_NUMBERS[value.name], new=True)
        if isinstance(value, Size):
            return PickledCall(Global("oneflow", "Size"), (tuple(value),), new=True)
        return None

    if global_dst_rank is None:
        files.save(obj, path, convert)
        return
    whole = _gathered(obj)  # by all processes together
    if world().rank == global_dst_rank:
        files.save(whole, path, convert)


def load(
    path: str | os.PathLike[str],
    global_src_rank: int | None = None,
    map_location: DeviceLike | placement | None = None,
    *,
    support_pytorch_format: bool = True,
) -> Any:
    """Load a file of `save`, OneFlow or torch.save. Never runs code from the files.

    Args:
        global_src_rank: return global tensors that only the process of this rank holds.
        map_location: a device for the tensors, "cpu" by default.
        support_pytorch_format: also read files of torch.save.

    Raises:
        NotImplementedError: the path does not exist (OneFlow's class of exception).
        CheckpointError: the file is damaged, or names a class that is unknown to OneFlow and this program.
    """
    if not os.path.exists(path):
        raise NotImplementedError(f"No valid load method found for {os.fspath(path)}: there is no file or folder")
    put = functools.partial(_put, global_src_rank=global_src_rank, map_location=map_location)
    if support_pytorch_format and _is_torchs(path):
        return _of_torch(path, put)
    known: dict[tuple[str, str], Any] = dict(_known_modules())
    known["oneflow._oneflow_internal", "dtype"] = _PendingDtype
    known["oneflow", "Size"] = Size
    known["oneflow._oneflow_internal", "Generator"] = _PendingGenerator
    budget = Budget(path)
    saved, copies = files.load(path, known, budget), _Copies(budget)

    def dressed(array: files.Tensor) -> Tensor:
        values = copies.of(array.array)
        tensor = put(values.view(torch.bfloat16) if array.bfloat16 else values)
        return Parameter(tensor) if isinstance(array, files.Parameter) else tensor

    return _mapped(saved, files.Tensor, dressed)


class _Copies:
    """Copies of a file's arrays as tensors. References to one array share one copy; the budget counts each copy."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._made: dict[tuple[Any, ...], torch.Tensor] = {}

    def of(self, values: np.ndarray) -> torch.Tensor:
        """The copy of an array. Raises CheckpointError if it exceeds the budget."""
        place = (values.__array_interface__["data"][0], values.shape, values.strides, values.dtype)
        if place not in self._made:
            self._budget.take(values.nbytes)
            self._made[place] = torch.from_numpy(np.array(values))
        return self._made[place].view_as(self._made[place])


def _put(values: torch.Tensor, global_src_rank: int | None, map_location: DeviceLike | placement | None) -> Tensor:
    """A loaded tensor on the device or placement that the caller of `load` asks for."""
    tensor: Any = dress(values)
    if global_src_rank is not None:
        tensor = tensor.to_global(placement("cpu", [global_src_rank]), sbp_module.broadcast)
    if isinstance(map_location, placement):
        return tensor.to_global(map_location)
    return tensor if map_location is None else tensor.to(map_location)


def _is_torchs(path: str | os.PathLike[str]) -> bool:
    """Whether torch.save wrote the file: an archive, or its format before version 1.6."""
    return os.path.isfile(path) and torch_files.recognise(read_regular(path, _HEAD))


def _of_torch(path: str | os.PathLike[str], put: Callable[[torch.Tensor], Tensor]) -> Any:
    """The content of a file of torch.save, as OneFlow's tensors, copied."""
    budget = Budget(path)
    copies = _Copies(budget)
    try:
        tree = torch_files.read(path, budget).tree
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} (the file was written by torch.save; of a whole model, save its state_dict() with torch instead)"
        ) from error
    return _mapped(
        tree, StoredTensor, lambda stored: put(StoredTensor(copies.of(stored.values).numpy(), stored.dtype).tensor())
    )


def _file_tensor(tensor: Tensor) -> files.Tensor:
    kind = files.Parameter if isinstance(tensor, Parameter) else files.Tensor
    values = tensor._whole().cpu().as_subclass(torch.Tensor)
    if values.dtype == torch.bfloat16:
        return kind(values.view(torch.uint16).numpy(), bfloat16=True)
    return kind(values.numpy())


def _gathered(value: Any) -> Any:
    """The same object with every global tensor as a whole local one."""

    def whole(tensor: Tensor) -> Tensor:
        if tensor.is_local:
            return tensor
        local = dress(tensor._whole())
        return Parameter(local) if isinstance(tensor, Parameter) else local

    return _mapped(value, Tensor, whole)


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The object with every leaf of a kind replaced, in containers and in modules. An object used twice is changed once."""
    changed: dict[int, Any] = {}

    def mapped(value: Any) -> Any:
        if not isinstance(value, (kind, Module, dict)) and type(value) not in (list, tuple, set):
            return value
        if id(value) not in changed:
            changed[id(value)] = rebuilt(value)
        return changed[id(value)]

    def rebuilt(value: Any) -> Any:
        if isinstance(value, kind):
            return change(value)
        if isinstance(value, Module):
            vars(value).update({name: mapped(part) for name, part in vars(value).items()})
            return value
        if isinstance(value, dict):
            return type(value)((name, mapped(part)) for name, part in value.items())
        return type(value)(map(mapped, value))

    return mapped(value)


def _module_call(module: Module) -> PickledCall:
    """A module as a pickle makes it: its class, then its attributes."""
    kind = type(module)
    state = {name: value for name, value in vars(module).items() if name not in _TORCH_ONLY}
    state |= {name: make(module) for name, make in _EXPECTED.get(kind.__name__, {}).items()}
    return PickledCall(Global(_original(kind.__module__), kind.__qualname__), (), state, new=True)


def _known_modules() -> Iterator[tuple[tuple[str, str], Callable[[], Pending]]]:
    """The classes of modules that this program has, under the names that files give them."""
    waiting: list[type] = [Module]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        for home in {kind.__module__, _original(kind.__module__), *_homes(kind)}:
            yield (home, kind.__qualname__), functools.partial(_PendingModule, kind)


# OneFlow's numbers of its data types.
_DTYPE_NUMBERS = {
    "float32": 2, "float64": 3, "int8": 4, "int32": 5, "int64": 6, "uint8": 7, "float16": 9, "bool": 10,
    "bfloat16": 11,
}  # fmt: skip


class _PendingDtype(Pending):
    """A data type. Its state is its number."""

    def build(self, state: Any) -> dtype:
        for name, number in _DTYPE_NUMBERS.items():
            if number == state and isinstance(state, int):
                return of_torch(getattr(torch, name))
        raise ValueError(f"a data type with the number {state!r}, which OneFlow's tensors do not have here")


class _PendingModule(Pending):
    """A module before its attributes are set. Nothing of its class is called."""

    def __init__(self, kind: type[Module]) -> None:
        super().__init__()
        self.kind = kind

    def build(self, state: Any) -> Module:
        if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
            raise ValueError(f"a {self.kind.__name__} without its attributes")
        module = torch.nn.Module.__new__(self.kind)
        vars(module).update(vars(torch.nn.Module()))
        vars(module).update({name: value for name, value in state.items() if name not in _TORCH_ONLY})
        _complete(module)
        return module


def _complete(module: Any) -> None:
    """Add the attributes that torch's layers need and OneFlow's do not have."""
    if isinstance(module, torch.nn.RNNBase):
        vars(module)["_flat_weight_refs"] = [_nowhere] * len(
            module._flat_weights_names
        )  # so that torch looks them up again
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        twice = [size for size in reversed(module.padding) for _ in range(2)]
        vars(module).update(
            transposed=False, output_padding=(0,) * len(module.padding), _reversed_padding_repeated_twice=twice
        )


def _nowhere() -> None:
    """The result of a weak reference to an object that was freed."""


class _PendingGenerator(Pending):
    """The generator of a Dropout, with its state."""

    def build(self, state: Any) -> Generator:
        values, device = (state.get(name) for name in ("state", "device")) if isinstance(state, dict) else (None, None)
        if not isinstance(values, files.Tensor) or not str(device).startswith(("auto", "cpu")):
            raise ValueError("a generator without its device and its state")
        return Generator(str(device)).set_state(torch.from_numpy(np.array(values.array)))


# Attributes that OneFlow's layers need when they are called and torch's do not have.
_POOLING: dict[str, Callable[[Any], Any]] = {"channel_pos": lambda layer: "channels_first"}
_CONVOLUTION: dict[str, Callable[[Any], Any]] = {
    **_POOLING,
    "out_channel_groups": lambda layer: layer.out_channels // layer.groups,
}
_EXPECTED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Linear": {"use_fused_matmul_bias": lambda layer: False},
    "BatchNorm1d": {"channel_axis": lambda layer: 1},
    "Conv1d": _CONVOLUTION,
    "Conv2d": _CONVOLUTION,
    "MaxPool1d": _POOLING,
    "MaxPool2d": _POOLING,
}


def _original(home: str) -> str:
    """Where OneFlow finds the classes of a module of this dialect."""
    if home == HERE or home.startswith(HERE + "."):
        home = "oneflow" + home[len(HERE) :]
    return "oneflow.nn" if home.startswith("oneflow.nn.modules.") else home


def _homes(kind: type) -> Iterator[str]:
    """The modules where OneFlow keeps a class that is in `oneflow.nn` here: they are named like torch's."""
    for base in kind.__mro__:
        if base.__name__ == kind.__name__ and base.__module__.startswith("torch.nn.modules."):
            yield "oneflow" + base.__module__[len("torch") :]
