"""safetensors: a JSON header and raw tensors. https://github.com/huggingface/safetensors, format section of its README.

u64 length of the header, the header {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {text: text}}, and the
tensors' bytes, little-endian, without gaps. Read here with torch not even imported; large files stay mapped.
"""

import json
import os
import struct
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ...facts.entries import FORMULA_MARK
from ..output.atomic import open_for_replace
from ..reading.budget import Budget
from ..reading.content import Content, EntryMark, Progress, flatten
from ..reading.json_text import parse_json
from ..reading.source import Bytes, Cursor, array_from, open_bytes, shown
from ..stored import StoredTensor, holder
from .torch import LAYOUT, MARKED_LAYOUT

__all__ = ["LAYOUT", "MARKED_LAYOUT", "problem", "read", "recognise", "write"]

NESTED = False
SUFFIXES = (".safetensors",)

_LONGEST_HEADER = 100_000_000
"""The longest header that the format's own reader takes."""
_METADATA = "__metadata__"

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "bfloat16", "I32": "int32", "U32": "uint32",
    "F32": "float32", "I64": "int64", "U64": "uint64", "F64": "float64", "C64": "complex64",
}  # fmt: skip
_CODES = {name: code for code, name in _DTYPES.items()}


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is safetensors: a length, then the brace of the header."""
    return len(head) > 8 and head[8:9] == b"{" and 2 <= struct.unpack("<Q", head[:8])[0] <= _LONGEST_HEADER


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read a file; tensors are views of it.

    Raises:
        CheckpointError: the header is damaged, or tensors overlap, leave gaps or reach past the end.
    """
    where = os.fspath(path)
    cursor = Cursor(open_bytes(path, budget), where)
    length = cursor.number("Q", "the header's length")
    if length > _LONGEST_HEADER:
        cursor.fail(f"a header of {length} bytes; at most {_LONGEST_HEADER} are possible", 0)
    header = _parse_header(cursor.take(length, "the header"), where, budget)
    metadata = _take_metadata(header, where)
    data = cursor.take(cursor.remaining, "the tensors")
    spans = {name: _span(entry, f"{where}: {name}") for name, entry in header.items()}
    _check_spans(spans, len(data), where)
    tree = {
        name: _tensor(header[name], data[begin:end], f"{where}: {name}", budget) for name, (begin, end) in spans.items()
    }
    marks = _read_marks(metadata.pop(FORMULA_MARK, "{}"), where, budget)
    return Content(tree, marks=marks, metadata=metadata)


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Write tensors by their flat names, without a copy of them all."""
    tensors: dict[str, StoredTensor] = flatten(content.tree, os.fspath(path))
    metadata = dict(content.metadata)
    if content.marks:
        metadata[FORMULA_MARK] = json.dumps(
            {path: mark.metadata() for path, mark in content.marks.items()}, sort_keys=True
        )
    # wide dtypes first, so that every tensor is aligned
    order = sorted(tensors, key=lambda name: (-tensors[name].values.dtype.itemsize, name))
    header: dict[str, Any] = {_METADATA: metadata} if metadata else {}
    offset = 0
    for name in order:
        tensor = tensors[name]
        end = offset + tensor.nbytes
        header[name] = {"dtype": _CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open_for_replace(path, progress=progress) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            values = np.asarray(tensors[name].values, order="C")
            if values.size:
                file.write(values.reshape(-1).view(np.uint8).data)


def problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written, or None."""
    if not isinstance(leaf, StoredTensor):
        return "safetensors holds tensors only"
    return None if leaf.dtype in _CODES else f"safetensors has no dtype {leaf.dtype}"


def _parse_header(text: Bytes, where: str, budget: Budget) -> dict[str, Any]:
    try:
        header = parse_json(text, budget)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{where}: byte 8: the header is not proper JSON: {error}") from error
    if not isinstance(header, dict):
        raise CheckpointError(f"{where}: byte 8: the header is not a JSON object")
    return header


def _take_metadata(header: dict[str, Any], where: str) -> dict[str, str]:
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"{where}: {_METADATA}: expected texts by name")
    return metadata


def _read_marks(text: str, where: str, budget: Budget) -> dict[str, EntryMark]:
    try:
        marks = parse_json(text.encode("utf-8", "surrogatepass"), budget)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{where}: {_METADATA}[{FORMULA_MARK!r}]: no proper JSON: {error}") from error
    if not isinstance(marks, dict) or not all(isinstance(mark, dict) for mark in marks.values()):
        raise CheckpointError(f"{where}: {_METADATA}[{FORMULA_MARK!r}]: expected an object of objects")
    return {path: EntryMark.of_metadata(mark) for path, mark in marks.items()}


def _span(entry: object, place: str) -> tuple[int, int]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"{place}: expected dtype, shape and data_offsets")
    offsets, shape = entry["data_offsets"], entry["shape"]
    for numbers in (offsets, shape):
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise CheckpointError(f"{place}: shape and data_offsets must be lists of numbers from 0 on")
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise CheckpointError(f"{place}: data_offsets must be [begin, end], got {', '.join(map(shown, offsets[:3]))}")
    return offsets[0], offsets[1]


def _check_spans(spans: dict[str, tuple[int, int]], size: int, where: str) -> None:
    position = 0
    for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        if begin != position:
            raise CheckpointError(f"{where}: {name}: begins at {shown(begin)} of the data, expected {shown(position)}")
        position = end
    if position != size:
        raise CheckpointError(f"{where}: the tensors take {shown(position)} bytes, the file has {size} for them")


def _tensor(entry: dict[str, Any], data: memoryview, place: str, budget: Budget) -> StoredTensor:
    name = _DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if name is None:
        raise CheckpointError(f"{place}: unknown dtype {shown(entry['dtype'])}")
    return StoredTensor(array_from(data, holder(name), entry["shape"], place, budget), name)
