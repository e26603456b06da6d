"""The tensors of Paddle's programs: `.pdiparams`, single tensors, and the folders of Paddle 1.x.

`paddle.jit.save` and `save_inference_model` write all persistable variables consecutively, in the order of their names;
`paddle.save(use_binary_format=True)` writes one tensor, and Paddle 1.x a file for each variable. Names are in the program
in the same folder (`.pdmodel` or `__model__`, a protocol buffer), and names of layers in `.pdiparams.info`. Source:
files of Paddle 2.6.2, and its `framework.proto`.
"""

import os
import re
import struct
from collections.abc import Iterator, Mapping

import numpy as np

from ...errors import CheckpointError
from ..output.atomic import open_for_replace
from ..reading.budget import PER_OBJECT, Budget
from ..reading.content import Content, Progress
from ..reading.protobuf import fields, varint
from ..reading.source import Cursor, array_from, open_bytes, shown
from ..stored import StoredTensor, holder
from . import READ_ONLY, paddle

__all__ = ["LAYOUT", "first_tensor", "problem", "read", "recognise", "save_tensor", "write"]

NESTED = False
SUFFIXES = (".pdiparams",)
LAYOUT = paddle.LAYOUT

_FOLDER = b"\0folder\0"
_PROGRAM, _ALL = "__model__", "__params__"
_VARIABLE = re.compile(rb"[^/]+\.[wb]_\d+")
_DTYPES = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 20: "uint8", 21: "int8",
    22: "bfloat16", 23: "complex64", 24: "complex128",
}  # fmt: skip
_DENSE = 7
"""The type of variables that are tensors."""
_LONGEST_DESCRIPTION = 1 << 10
_CELL = re.compile(r"(gru_cell_\d+)\.(w_0|w_1|b_0|b_1)")
_PARTS = {"w_0": "weight_ih", "w_1": "weight_hh", "b_0": "bias_ih", "b_1": "bias_hh"}
_OF_LAYER = re.compile(r"(.*)\.(\d{1,4})\.cell(|_fw|_bw)\.(weight_ih|weight_hh|bias_ih|bias_hh)")


def recognise(head: bytes) -> bool:
    """Whether a file starts with a tensor (version 0, no levels, version 0, a description), or a folder has variables."""
    if head.startswith(_FOLDER):
        names = head[len(_FOLDER) :].split(b"\0")
        return _PROGRAM.encode() in names or any(map(_VARIABLE.fullmatch, names))
    size = int.from_bytes(head[16:20], "little")
    return len(head) > 22 and head[:16] == bytes(16) and 2 <= size <= _LONGEST_DESCRIPTION and head[20] == 0x08


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read all tensors, under the names of layers in `.pdiparams.info`, or under the names of variables.

    Raises:
        CheckpointError: a file is damaged, or the program has another number of variables.
    """
    where = os.fspath(path)
    if os.path.isdir(where):
        return _named_cells(_folder(where, budget), budget)
    tensors = list(_tensors(where, budget))
    stem = where.removesuffix(".pdiparams")
    names = [os.path.splitext(os.path.basename(where))[0]]
    if os.path.isfile(program := f"{stem}.pdmodel"):
        names = _names(program, budget)
    elif len(tensors) != 1:
        names = [f"tensor_{number}" for number in range(len(tensors))]
    found = _named(names, tensors, where)
    if not os.path.isfile(info := f"{where}.info"):
        return _named_cells(found, budget)
    structured = _structured(info, budget)
    of_layers = _stacked({structured.get(name, name): tensor for name, tensor in found.items()})
    if len(of_layers) != len(found):
        raise CheckpointError(f"{info}: two variables have the same name")
    return Content(of_layers, parameter_names=dict(zip(of_layers, found, strict=True)))


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Refuse; see `formats.READ_ONLY`."""
    raise CheckpointError(f"{os.fspath(path)}: {READ_ONLY['paddle_binary']}")


def problem(leaf: object) -> str | None:
    """Why nothing can be written."""
    return READ_ONLY["paddle_binary"]


def first_tensor(path: str | os.PathLike[str], budget: Budget) -> np.ndarray:
    """Read the first tensor of a file, as `paddle.load` does; uint16 holds the bits of bfloat16.

    Raises:
        CheckpointError: the file is damaged.
    """
    return next(_tensors(os.fspath(path), budget)).values


def save_tensor(array: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Write one tensor so that `paddle.load` reads it; uint16 holds the bits of bfloat16.

    Raises:
        ValueError: Paddle has no such dtype.
    """
    dtype = "bfloat16" if array.dtype == np.uint16 else array.dtype.name
    codes = [code for code, name in _DTYPES.items() if name == dtype]
    if not codes:
        raise ValueError(
            f"a tensor in Paddle's binary format cannot have the dtype {dtype}; it can be {[*_DTYPES.values()]}"
        )
    description = b"\x08" + bytes(codes) + b"".join(b"\x10" + _varint(axis) for axis in array.shape)
    with open_for_replace(path) as file:
        file.write(bytes(16) + struct.pack("<i", len(description)) + description)
        file.write(array.tobytes())


def _varint(number: int) -> bytes:
    return bytes([number & 127 | 128]) + _varint(number >> 7) if number > 127 else bytes([number])


def _folder(where: str, budget: Budget) -> dict[str, StoredTensor]:
    """The tensors of a folder of Paddle 1.x: one file for each, or one for all next to the program."""
    files = sorted(name for name in os.listdir(where) if os.path.isfile(os.path.join(where, name)))
    if _PROGRAM in files and (others := [name for name in files if name != _PROGRAM]) in ([_ALL], ["params"]):
        names = _names(os.path.join(where, _PROGRAM), budget)
        return _named(names, list(_tensors(os.path.join(where, others[0]), budget)), where)
    found: dict[str, StoredTensor] = {}
    for name in files:
        if name != _PROGRAM:
            budget.take(PER_OBJECT)
            found |= _named([name], list(_tensors(os.path.join(where, name), budget)), os.path.join(where, name))
    return found


def _named(names: list[str], tensors: list[StoredTensor], where: str) -> dict[str, StoredTensor]:
    if len(names) != len(tensors):
        raise CheckpointError(f"{where}: {len(tensors)} tensors, but the program has {len(names)} variables")
    return dict(zip(names, tensors, strict=True))


def _tensors(where: str, budget: Budget) -> Iterator[StoredTensor]:
    """The tensors of a file, in order."""
    data = open_bytes(where, budget)
    cursor = Cursor(data, where)
    while cursor.remaining:
        start = cursor.position
        if cursor.number("I", "the version of a tensor") or cursor.number("Q", "the number of its levels"):
            cursor.fail("expected a tensor of version 0 without levels", start)
        if cursor.number("I", "the version of its values"):
            cursor.fail("expected values of version 0", start)
        size = cursor.number("i", "the length of a description")
        if size > _LONGEST_DESCRIPTION:
            cursor.fail(f"a description of {size} bytes, at most {_LONGEST_DESCRIPTION} are possible", start)
        dtype, shape = _described(cursor.take(size, "a description"), where)
        kind = holder(dtype)
        count = int(np.prod([int(axis) for axis in shape], dtype=object)) if shape else 1
        values = cursor.take(count * kind.itemsize, f"a tensor {list(shape)} of {dtype}")
        yield StoredTensor(array_from(values, kind, shape, where, budget), dtype)


def _described(data: memoryview, where: str) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape of a tensor."""
    dtype, shape = None, []
    for number, value in fields(data, where):
        if number == 1 and isinstance(value, int):
            dtype = _DTYPES.get(value)
        elif number == 2 and isinstance(value, int):
            shape.append(value)
        elif number == 2 and isinstance(value, memoryview):  # packed
            position = 0
            while position < len(value):
                axis, position = varint(value, position, len(value), where)
                shape.append(axis)
    if dtype is None or any(axis >= 1 << 62 for axis in shape):
        raise CheckpointError(f"{where}: a tensor of an unknown dtype, or with an impossible shape")
    return dtype, tuple(shape)


def _names(program: str, budget: Budget) -> list[str]:
    """The names of a program's persistable tensors, in the order of their values: sorted."""
    names: set[str] = set()
    for block in _messages(open_bytes(program, budget), 1, program):
        for variable in _messages(block, 3, program):
            facts = dict(fields(variable, program))
            name, kind = facts.get(1), facts.get(2)
            if not facts.get(3) or not isinstance(name, memoryview) or not isinstance(kind, memoryview):
                continue
            if dict(fields(kind, program)).get(1) == _DENSE:
                budget.take(PER_OBJECT)
                names.add(str(name, "utf-8", "replace"))
    return sorted(names)


def _messages(data: memoryview, number: int, where: str) -> Iterator[memoryview]:
    """The messages in the fields of a number."""
    for found, value in fields(data, where):
        if found == number and isinstance(value, memoryview):
            yield value


def _structured(info: str, budget: Budget) -> dict[str, str]:
    """The names of layers by the variable's name."""
    table = paddle.load(info, budget)
    if not isinstance(table, dict):
        raise CheckpointError(f"{info}: expected a dict of variables, got {shown(table)}")
    pairs = {name: facts.get("structured_name") for name, facts in table.items() if isinstance(facts, dict)}
    return {name: text for name, text in pairs.items() if isinstance(text, str)}


def _named_cells(found: dict[str, StoredTensor], budget: Budget) -> Content:
    """Rename `gru_cell_0.w_0` and its like, Paddle's names of a GRU's weights in a program without names of layers.

    The weights of `dynamic_gru` and `gru_unit` become the weights of cells.
    """

    def renamed(name: str) -> str:
        match = _CELL.fullmatch(name)
        return f"{match[1]}.{_PARTS[match[2]]}" if match else name

    cells = {renamed(name): tensor for name, tensor in found.items()}
    return Content(cells, paddle.as_cells(cells, {}, budget))


def _stacked(found: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Rename `gru.0.cell_fw.weight_ih`, the last name of a parameter of `paddle.nn.GRU`, to `gru.weight_ih_l0`.

    Layers must be complete and fit each other, as in one `paddle.nn.GRU`.
    """
    layers: dict[str, dict[tuple[int, str, str], StoredTensor]] = {}
    for name, tensor in found.items():
        if match := _OF_LAYER.fullmatch(name):
            layers.setdefault(match[1], {})[int(match[2]), match[3], match[4]] = tensor
    whole = {name for name, parts in layers.items() if _fit(parts)}

    def renamed(name: str) -> str:
        match = _OF_LAYER.fullmatch(name)
        if not match or match[1] not in whole:
            return name
        return f"{match[1]}.{match[4]}_l{int(match[2])}{'_reverse' if match[3] == '_bw' else ''}"

    return {renamed(name): tensor for name, tensor in found.items()}


def _fit(parts: Mapping[tuple[int, str, str], StoredTensor]) -> bool:
    """Whether parts by (layer, direction, part) are the parameters of one stacked GRU."""
    depth = 1 + max(layer for layer, _, _ in parts)
    sides = ("",) if (0, "", "weight_hh") in parts else ("_fw", "_bw")
    wanted = {
        (layer, side, part) for layer in range(min(depth, len(parts))) for side in sides for part in _PARTS.values()
    }
    if set(parts) != wanted or parts[0, sides[0], "weight_hh"].values.ndim != 2:
        return False
    hidden = parts[0, sides[0], "weight_hh"].values.shape[1]
    below = [parts[layer, side, "weight_ih"].values for layer in range(1, depth) for side in sides]
    return all(weight.ndim == 2 and weight.shape == (3 * hidden, len(sides) * hidden) for weight in below)
