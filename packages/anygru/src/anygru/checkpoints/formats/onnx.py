"""ONNX models: the weights of their GRU nodes, and every other initializer. https://onnx.ai/onnx/repo-docs/IR.html

The `onnx` package parses the structure, which is a protocol buffer. Only a few operators that rearrange constants are
executed (`onnx_constants.OPERATORS`), which exporters put between the stored weights and the node. A model is read and
never written: a checkpoint has no graph, so `anygru.onnx.export` writes models.
"""

import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CheckpointError, ExtraMissingError, how_to_install
from ..reading.budget import PER_OBJECT, Budget
from ..reading.content import Content, EntryMark, Progress
from ..reading.onnx_constants import OPERATORS, rearranged
from ..reading.onnx_nodes import LAYOUT, LONGEST_CHAIN, OF_SHAPES, Node, stacks, subgraphs
from ..reading.protobuf import varint
from ..reading.source import array_from, count_elements, empty_array, named_file, open_bytes, shown
from ..stored import StoredTensor, holder
from . import READ_ONLY

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

__all__ = ["LAYOUT", "problem", "read", "recognise", "write"]

NESTED = False
SUFFIXES = (".onnx",)

_DTYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64"}
_DTYPES |= {9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16"}
"""By their numbers in ONNX's protocol buffer. The package onnx 1.17 names bfloat16 float32, so it is not asked."""
_WITH_SIZES = {"Expand", "Gather", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Unsqueeze"}
"""Operators with sizes and places as their further inputs."""
_PER_MESSAGE = 350
"""Bytes that protobuf 7.36 takes for an empty message and its Python object: 342, measured."""


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is a model: its first field is the version of the format."""
    return (
        len(head) > 3
        and head[0] == 0x08
        and 1 <= head[1] <= 0x7F
        and head[2] in (0x12, 0x1A, 0x22, 0x2A, 0x32, 0x3A, 0x42)
    )


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read the weights of a model; the tensors of a GRU are called NODE.W_l0, NODE.R_l0, NODE.Wb_l0, NODE.Rb_l0 and so on.

    Raises:
        CheckpointError: the file is damaged, has wrong sizes, refers to data outside its folder, or has a GRU that the core
            cannot compute; the message names the node.
    """
    onnx = _onnx()
    where = os.fspath(path)
    data = open_bytes(path, budget)
    budget.take(2 * len(data))  # the copy, and protobuf's own copies of the raw values
    _count_messages(data, onnx.ModelProto.DESCRIPTOR, where, budget)
    try:
        model = onnx.ModelProto.FromString(bytes(data))
    except Exception as error:  # protobuf's DecodeError has no public home that is the same in all its versions
        raise CheckpointError(f"{where}: byte 0: no ONNX model: {error}") from error
    newest = onnx.defs.onnx_opset_version()
    for used in (*model.opset_import, *(each for function in model.functions for each in function.opset_import)):
        if used.domain in ("", "ai.onnx") and used.version > newest:
            raise CheckpointError(
                f"{where}: operator set {used.version} of ONNX; the installed package onnx has the sets up to {newest}"
            )
    tree: dict[str, StoredTensor] = {}
    marks: dict[str, EntryMark] = {}
    names = _Names()
    scopes = list(_scopes(model, where, budget))
    for graph, constants in scopes:
        for stack in stacks(graph, constants, where):
            name = names.unused(stack[0].name or next(iter(stack[0].output), "") or "gru")
            nodes = [Node(node, constants, f"{where}: node {node.name or name!r}") for node in stack]
            for layer, node in enumerate(nodes):
                tree |= {f"{name}.{part}": value for part, value in node.parts(layer, budget).items()}
            notes = dict.fromkeys(note for node in nodes for note in node.mark.notes)
            marks[name] = replace(nodes[0].mark, notes=tuple(notes))
    for _, constants in scopes:
        for name, value in constants.unused():
            tree[name if name not in tree else names.unused(name)] = value
    return Content(tree, marks=marks, files=tuple(sorted(scopes[0][1].files)))


def _scopes(
    model: "ModelProto", where: str, budget: Budget
) -> "Iterator[tuple[GraphProto | FunctionProto, _Constants]]":
    """The model's graph, the graphs inside its nodes, and each call of a local function, with the values that they see.

    Raises:
        CheckpointError: they are nested too deeply, as functions are that call each other, or are over the budget.
    """
    functions = {(function.domain, function.name): function for function in model.functions}
    graph: GraphProto | FunctionProto
    waiting = deque([(model.graph, _Constants(model.graph, where, budget), 0)])
    while waiting:
        graph, constants, depth = waiting.popleft()
        yield graph, constants
        for node in graph.node:
            inner: list[tuple[GraphProto | FunctionProto, dict[str, str]]] = [(body, {}) for body in subgraphs(node)]
            function = functions.get((node.domain, node.op_type))
            if function is not None:
                given = [*node.input, *[""] * (len(function.input) - len(node.input))]
                inner.append((function, dict(zip(function.input, given, strict=False))))
            for body, bound in inner:
                if depth == LONGEST_CHAIN:
                    raise CheckpointError(f"{where}: graphs and functions are nested more than {LONGEST_CHAIN} deep")
                budget.take(_PER_MESSAGE * (1 + len(body.node)))
                waiting.append((body, _Constants(body, where, budget, constants, bound), depth + 1))


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Refuse; see `formats.READ_ONLY`."""
    raise CheckpointError(f"{os.fspath(path)}: {READ_ONLY['onnx']}")


def problem(leaf: object) -> str | None:
    """Return the reason why this format cannot be written."""
    return READ_ONLY["onnx"]


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ExtraMissingError(f"ONNX models need the package onnx: {how_to_install('onnx')}") from error
    return onnx


class _Names:
    """Names for GRUs: a node's own, or that with a number where several nodes have it."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def unused(self, name: str) -> str:
        """Return a name that was not given out before."""
        number = self._taken.get(name, 0)
        while (candidate := f"{name}_{number}" if number else name) in self._taken:
            number += 1
        self._taken[name] = number + 1
        self._taken.setdefault(candidate, 1)
        return candidate


def _count_messages(data: memoryview, kind: Any, where: str, budget: Budget) -> None:
    """Count the memory of the messages in a protocol buffer before it is parsed: two bytes of the file can be an empty node.

    Args:
        data: the bytes of a message.
        kind: its descriptor, with the fields that are nested messages.
    """
    waiting = [(0, len(data), kind)]
    while waiting:
        position, end, kind = waiting.pop()
        while position < end:
            tag, position = varint(data, position, end, where)
            size = {0: 0, 1: 8, 5: 4}.get(tag & 7, -1)
            if tag & 7 == 0:
                _, position = varint(data, position, end, where)
            elif tag & 7 == 2:
                size, position = varint(data, position, end, where)
                field = kind.fields_by_number.get(tag >> 3)
                budget.take(_PER_MESSAGE if field is None or field.message_type else 0)
                if field is not None and field.message_type:
                    waiting.append((position, position + size, field.message_type))
            if size < 0 or position + size > end:
                raise CheckpointError(f"{where}: byte {position}: no ONNX model: a field reaches past its end")
            position += size


class _Constants:
    """The values that a graph holds: initializers, `Constant` nodes, and values rearranged from these.

    Args:
        graph: the model's graph.
        where: the file's name.
        budget: counts the memory that is made.
        outer: the values of the graph around it.
        bound: the names there of the inputs of a function.
    """

    def __init__(
        self,
        graph: "GraphProto | FunctionProto",
        where: str,
        budget: Budget,
        outer: "_Constants | None" = None,
        bound: Mapping[str, str] | None = None,
    ) -> None:
        self._where, self._budget, self._outer, self._bound = where, budget, outer, bound or {}
        self._function = not hasattr(graph, "initializer")
        self.files: dict[str, memoryview] = {} if outer is None else outer.files
        """The bytes of files of external data, by their names."""
        stored = () if self._function else graph.initializer
        self._inputs = {value if isinstance(value, str) else value.name for value in graph.input}
        self._tensors: dict[str, TensorProto] = {tensor.name: tensor for tensor in stored}
        self._makers = {output: node for node in graph.node for output in node.output if output}
        made = [tensor.name for tensor in stored]
        made += [output for node in graph.node for output in node.output if output]
        if len(made) != len(self._tensors.keys() | self._makers):
            twice = next(name for name, count in Counter(made).items() if count > 1)
            raise CheckpointError(f"{where}: the value {shown(twice)} is made twice")
        self._used: set[str] = set()
        self._made: dict[str, np.ndarray] = {}

    def value(self, name: str, place: str, depth: int = 0) -> np.ndarray:
        """The array of that name.

        Raises:
            CheckpointError: it is an input of the graph or the result of a computation.
        """
        if name in self._tensors:
            self._used.add(name)
            return self._array(self._tensors[name]).values
        node = self._makers.get(name)
        if node is None and (outer := self._outside(name)):
            return outer[0].value(outer[1], place, depth)
        if name not in self._made:
            if node is None or depth > LONGEST_CHAIN:
                raise CheckpointError(
                    f"{place}: {name!r} is not a stored value; it is an input of the model or computed from one"
                )
            self._made |= self._evaluate(node, place, depth)
        return self._made[name]

    def stored_within(self, name: str) -> str:
        """Return the name of a stored number other than 0 from which alone a value is computed; "" without such a number.

        The size is ignored: an exporter makes zeros for the number of sequences of the model's input.
        """
        waiting, seen, found = [name], {""}, ""
        while waiting:
            name = waiting.pop()
            node = self._makers.get(name)
            if name in seen:
                continue
            seen.add(name)
            if name in self._tensors:
                found = found or (name if self._array(self._tensors[name]).values.any() else "")
            elif node is None:
                outer = self._outside(name)
                within = outer[0].stored_within(outer[1]) if outer else ""
                if not within:
                    return ""  # an input of the model
                found = found or within
            elif node.op_type in ("Constant", "ConstantOfShape"):
                found = found or (name if node.attribute and self._constant(node, self._where).any() else "")
            elif node.op_type not in OF_SHAPES:
                waiting.extend(node.input[:1] if node.op_type in _WITH_SIZES else node.input)
        return found

    def _outside(self, name: str) -> "tuple[_Constants, str] | None":
        """The values of the graph around this one and the name there of a value that this graph does not make."""
        if self._outer is None:
            return None
        if name in self._inputs or self._function:  # a function sees its inputs alone
            return (self._outer, self._bound[name]) if self._bound.get(name) else None
        return self._outer, name

    def unused(self) -> Iterator[tuple[str, StoredTensor]]:
        """The initializers that no GRU has taken."""
        for name, tensor in self._tensors.items():
            if name not in self._used:
                yield name, self._array(tensor)

    def _evaluate(self, node: "NodeProto", place: str, depth: int) -> dict[str, np.ndarray]:
        known = node.domain in ("", "ai.onnx")
        if node.op_type == "Constant" and known:
            return {node.output[0]: self._constant(node, place)}
        if node.op_type not in OPERATORS or not known:
            raise CheckpointError(f"{place}: {node.output[0]!r} is computed by {node.op_type}, not stored")
        inputs = [self.value(name, place, depth + 1) if name else None for name in node.input]
        return rearranged(node, inputs, self._budget, place)

    def _constant(self, node: "NodeProto", place: str) -> np.ndarray:
        for attribute in node.attribute:
            if attribute.name == "value":
                return self._array(attribute.t).values
            self._budget.take(PER_OBJECT + 16 * (len(attribute.ints) + len(attribute.floats)))
            if attribute.name in ("value_ints", "value_int"):
                return np.array(attribute.ints if attribute.name == "value_ints" else attribute.i, np.int64)
            if attribute.name in ("value_floats", "value_float"):
                return np.array(attribute.floats if attribute.name == "value_floats" else attribute.f, np.float32)
        raise CheckpointError(f"{place}: a Constant without a number")

    def _array(self, tensor: "TensorProto") -> StoredTensor:
        """The values of a tensor; each length is compared with the available bytes."""
        onnx = _onnx()
        place = f"{self._where}: {tensor.name or 'a constant'}"
        name = _DTYPES.get(tensor.data_type)
        if name is None:
            known = ", ".join(_DTYPES.values())
            raise CheckpointError(f"{place}: unknown dtype {tensor.data_type}; a tensor can be of {known}")
        shape = tuple(tensor.dims)
        count = count_elements(shape, place)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return StoredTensor(
                array_from(self._external(tensor, place), holder(name), shape, place, self._budget), name
            )
        if tensor.HasField("raw_data"):
            self._budget.take(len(tensor.raw_data))
            return StoredTensor(array_from(bytearray(tensor.raw_data), holder(name), shape, place, self._budget), name)
        values = getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type))
        if len(values) != count:
            raise CheckpointError(f"{place}: shape {shape} needs {count} values, got {len(values)}")
        if not count:
            return StoredTensor(empty_array(shape, holder(name), place), name)
        # types of at most 16 bits are written as integers that hold their bits
        self._budget.take(PER_OBJECT + 16 * count)
        dtype = np.dtype(np.uint16) if name in ("float16", "bfloat16") else holder(name)
        wide = np.array(values, np.int32 if dtype.kind in "biu" and dtype.itemsize < 4 else dtype)
        if wide.dtype != dtype and wide.size:
            least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            if int(wide.min()) < least or int(wide.max()) > most:
                raise CheckpointError(f"{place}: a value of {name} is not between {least} and {most}")
        array = wide.astype(dtype)
        return StoredTensor(array.view(holder(name)).reshape(shape), name)

    def _external(self, tensor: "TensorProto", place: str) -> memoryview:
        """Bytes from a separate file, which must be in the model's folder and no link out of it."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        name = entries.get("location", "")
        if name not in self.files:
            self.files[name] = open_bytes(named_file(self._where, name, f"{place}: external data"), self._budget)
        data = self.files[name]
        try:
            start = int(entries.get("offset", "0")[:20])
            length = int(entries["length"][:20]) if "length" in entries else len(data) - start
        except ValueError as error:
            raise CheckpointError(f"{place}: external data: offset and length must be numbers") from error
        if start < 0 or length < 0 or start + length > len(data):
            raise CheckpointError(f"{place}: external data of {length} bytes from {start} on, the file has {len(data)}")
        return data[start : start + length]
