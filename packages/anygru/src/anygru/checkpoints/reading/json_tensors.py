"""Tensors as nested lists of numbers in JSON, which has no dtypes; read within a budget, and written."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ..output.atomic import open_for_replace
from ..stored import StoredTensor
from .budget import PER_OBJECT, Budget
from .content import Progress
from .json_text import parse_json
from .source import MAX_AXES, open_bytes, shown


def read_object(path: str | os.PathLike[str], budget: Budget) -> dict[str, Any]:
    """Read a file with one JSON object.

    Raises:
        CheckpointError: it is no proper JSON, or has another value; or the budget is spent.
    """
    where = os.fspath(path)
    try:
        found = parse_json(open_bytes(path, budget), budget)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{where}: no proper JSON: {error}") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{where}: must be a JSON object, got {shown(found)}")
    return found


def array_of(value: object, place: str, budget: Budget) -> np.ndarray:
    """Read a number, or nested lists of numbers, as float64.

    Raises:
        CheckpointError: a value is no finite number, or the lists have unequal lengths.
    """
    shape: list[int] = []
    level: list[Any] = [value]
    while level and isinstance(level[0], list):
        length = len(level[0])
        if len(shape) == MAX_AXES or any(not isinstance(each, list) or len(each) != length for each in level):
            raise CheckpointError(f"{place}: axis {len(shape)}: lists of unequal lengths, or more than {MAX_AXES} axes")
        budget.take(8 * length * len(level))
        level = [number for each in level for number in each]
        shape.append(length)
    wrong = next((number for number in level if type(number) not in (int, float)), None)
    if wrong is not None or None in level:
        raise CheckpointError(f"{place}: must hold numbers alone, got {shown(wrong)}")
    budget.take(PER_OBJECT + 8 * len(level))
    try:
        array = np.array(level, np.float64).reshape(shape)
    except (OverflowError, ValueError):
        array = np.full((), np.nan)
    if not np.isfinite(array).all():
        raise CheckpointError(f"{place}: a number is not finite in 64 bits (JSON has no NaN and no infinity)")
    return array


def stored_floats(arrays: Mapping[str, np.ndarray], budget: Budget) -> dict[str, StoredTensor]:
    """Give the tensors in float32 where that holds every number of the file, and all in float64 otherwise."""
    budget.take(sum(array.nbytes for array in arrays.values()))
    with np.errstate(over="ignore"):
        narrow = {name: array.astype(np.float32) for name, array in arrays.items()}
    exact = all(np.array_equal(narrow[name], array) for name, array in arrays.items())
    return {name: StoredTensor.of(array) for name, array in (narrow if exact else arrays).items()}


def float_problem(leaf: object) -> str | None:
    """Return the reason why a value cannot be written as numbers in JSON, or None."""
    if not isinstance(leaf, StoredTensor):
        return "this form of JSON holds tensors only"
    if leaf.dtype not in ("float32", "float64"):
        return f"JSON has no dtypes, and its numbers are read as float32 or float64, not as {leaf.dtype}"
    return None if np.isfinite(leaf.values).all() else "JSON has no NaN and no infinity"


def check_dtypes(tensors: Iterable[StoredTensor], where: str) -> None:
    """Raise a CheckpointError for tensors that `stored_floats` would read in other dtypes."""
    wide = [tensor.values for tensor in tensors if tensor.dtype == "float64"]
    narrow = any(tensor.dtype == "float32" for tensor in tensors)
    with np.errstate(over="ignore"):
        fits = all(np.array_equal(values.astype(np.float32), values) for values in wide)
    if wide and (narrow or fits):
        raise CheckpointError(
            f"{where}: JSON has no dtypes, and these float64 tensors would be read as float32: call the model's float() first"
        )


def write_object(path: str | os.PathLike[str], entries: Mapping[str, Any], progress: Progress | None) -> None:
    """Write an object; a `StoredTensor` anywhere in it becomes nested lists of numbers, of which no bit is lost."""
    encoder = json.JSONEncoder(allow_nan=False, default=lambda tensor: tensor.values.tolist())
    with open_for_replace(path, progress=progress) as file:
        for piece in encoder.iterencode(entries):
            file.write(piece.encode("ascii"))
