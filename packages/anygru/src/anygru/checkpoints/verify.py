"""Compare a converted checkpoint with its source, independently of the code of the conversion.

GRUs are computed in float64 from the frameworks' own documentation of their tensors (`documented`), once from the source's file
and once from the result's; other tensors are compared bit by bit.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..errors import CheckpointError
from .checkpoint import Checkpoint, load_checkpoint
from .conversion import Conversion, Verdict
from .documented import Gates, find_gates, places
from .equations import Equations, run, step
from .finding import FoundGRU
from .originals import run_original
from .stored import StoredTensor

_STEPS, _BATCH = 4, 2
"""Steps and sequences of the random input."""
_ROUNDING = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2, "bfloat16": 1e-1}
"""How far outputs may differ where biases had to be added: a few roundings of the dtype in states below 1."""
_INT8_STEPS, _BFLOAT16_PART = 16.0, 2.0**-8
"""The tolerance of a rounded weight: in steps of int8 (columns compensate errors of other columns), and relative for bfloat16.
"""
_NO_LIMIT = 1 << 62
"""The result was written here, from a source that kept to its own limit."""
_PIECE = 256
"""Rows that are compared at a time: a comparison takes more memory than its arguments."""
_LARGE = 1 << 20
"""GRUs with more weights than this are not run where all their gates are the same: the results must be, and it takes seconds."""


def verify(
    source: Checkpoint,
    result_path: str | os.PathLike[str],
    report: Conversion,
    target: str | os.PathLike[str],
    sandbox: bool = False,
) -> list[Verdict]:
    """Read a conversion's result back and compare it.

    Args:
        source: the checkpoint that was converted.
        result_path: the result, before it replaces the target.
        report: the report of the conversion; `moves` are added to it.
        target: the place, for errors.
        sandbox: see `load_checkpoint`; a copy of a stranger's file is still the stranger's.

    Raises:
        CheckpointError: a tensor or a GRU's results have changed.
    """
    two_sided = [path for gru, path, _ in report.converted if gru.bidirectional]
    limit = None if sandbox else _NO_LIMIT  # a contained process needs a bound
    result = load_checkpoint(result_path, report.target, bidirectional=two_sided, limit=limit, sandbox=sandbox)
    _compare_kept(source, result, report, os.fspath(target))
    verdicts = []
    for gru, path, _ in report.converted:
        verdicts.append(_verdict(gru, source, result, path, report, os.fspath(target)))
        report.moves[path] = _moves(gru, source, result, path)
    return verdicts


def _verdict(
    gru: FoundGRU, source: Checkpoint, result: Checkpoint, path: str, report: Conversion, target: str
) -> Verdict:
    twin = result.find(path)
    for side, problem in (("source", gru.problem), ("result", twin.problem)):
        if problem:
            return Verdict(path, reason=f"the {side}'s formula is not known: {problem}")
    old = _from_all_places(find_gates, gru, source)
    new = find_gates(result.stored, path, gru.num_layers, gru.directions, gru.cell)
    if old is None or new is None:
        side, place = ("source", gru.path) if old is None else ("result", path)
        return Verdict(path, reason=f"no second description fits the tensors of {place or 'the GRU'} in the {side}")
    name = path or "the GRU"
    weights = report.frozen.get(gru.path)
    if weights is not None:
        _check_rounded(old, new, weights, f"{target}: {name}")
    formulas = _equations(gru), _equations(twin)
    if report.approximated and formulas[0] != formulas[1]:  # activations that the target could not hold are set by hand
        formulas = formulas[0], formulas[0]
    by = "the frameworks' documentation"
    if gru.parameters > _LARGE and formulas[0] == formulas[1] and all(map(_same_gates, old, new)):
        return Verdict(path, True, 0.0, by)
    x, h = _random_input(gru)
    results = [_results(gru, parts, equations, x, h) for parts, equations in zip((old, new), formulas, strict=True)]
    same, difference = _compare(*results)
    if weights is None and not same and not difference <= _ROUNDING[gru.dtype]:
        raise CheckpointError(f"{target}: {name}: its results differ from the source's by {difference:.3g}")
    if weights is None:
        sides = ((gru, source, results[0]), (_with_equations(twin, formulas[1]), result, results[1]))
        words = [_against_original(*side, x, h, f"{target}: {name}") for side in sides]
        by = " and ".join(dict.fromkeys(filter(None, words))) or by
    return Verdict(path, same, difference, by)


_T = TypeVar("_T")


def _from_all_places(find: Callable[..., list[_T] | None], gru: FoundGRU, file: Checkpoint) -> list[_T] | None:
    """Each layer and direction of a GRU by `find_gates` or `places`, from where it is in the file."""
    if not gru.origins:
        return find(file.stored, gru.path, gru.num_layers, gru.directions, gru.cell)
    found = []
    for home, number in gru.origins:
        parts = find(file.stored, home.path, home.num_layers, home.directions, home.cell)
        if parts is None:
            return None
        found.append(parts[number])
    return found


def _against_original(
    gru: FoundGRU, file: Checkpoint, ours: Sequence[np.ndarray], x: np.ndarray, h: np.ndarray, place: str
) -> str:
    """Compare with the original framework's results, if it is installed; returns its name."""
    found = run_original(gru, file.stored, x, h)
    if found is None:
        return ""
    name, theirs = found
    same, difference = _compare(ours, theirs)
    if not same and not difference <= _ROUNDING["float32"]:
        raise CheckpointError(
            f"{place}: {name} computes results that differ from the documented ones by {difference:.3g}"
        )
    return name


def _equations(gru: FoundGRU) -> Equations:
    return Equations(gru.reset, gru.gate_activation, gru.activation, gru.reverse, gru.zoneout)


def _random_input(gru: FoundGRU) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(gru.input_size * 1000 + gru.hidden_size)
    states = () if gru.cell else (gru.num_layers * gru.directions,)
    x = random.standard_normal((_STEPS, _BATCH, gru.input_size))
    return x, random.standard_normal((*states, _BATCH, gru.hidden_size))


def _with_equations(gru: FoundGRU, equations: Equations) -> FoundGRU:
    return replace(
        gru,
        gate_activation=equations.gate_activation,
        activation=equations.activation,
        reverse=equations.reverse,
        zoneout=equations.zoneout,
    )


def _results(
    gru: FoundGRU, parts: list[Gates], equations: Equations, x: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, ...]:
    with np.errstate(all="ignore"):  # weights may be infinite
        if not gru.cell:
            return run(parts, gru.directions, equations, x, h)
        for one in x:
            h = step(parts[0], equations, one, h)
        return (h,)


def _compare(expected: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> tuple[bool, float]:
    """Whether the bits are the same, and the largest difference."""
    same = all(_same_bits(a, b) for a, b in zip(expected, got, strict=True))
    return same, 0.0 if same else max(_difference(a, b) for a, b in zip(expected, got, strict=True))


def _same_bits(one: np.ndarray, two: np.ndarray) -> bool:
    """Compare bits, since a NaN is equal to no number, not even to itself; any NaN is as good as another."""
    if one.shape != two.shape:
        return False
    pieces = (slice(begin, begin + _PIECE) for begin in range(0, len(one), _PIECE))
    return all(np.array_equal(_bits(one[piece]), _bits(two[piece])) for piece in pieces)


def _bits(values: np.ndarray) -> np.ndarray:
    wide: np.ndarray = values.astype(np.float64)
    wide[np.isnan(wide)] = np.nan
    return wide.view(np.int64)


def _difference(one: np.ndarray, two: np.ndarray) -> float:
    """Return the largest difference; infinite where only one is NaN, or where infinities differ."""
    with np.errstate(all="ignore"):
        apart = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
    return float(np.nan_to_num(apart, nan=math.inf, posinf=math.inf).max(initial=0.0))


def _flat(gates: Gates) -> list[np.ndarray | None]:
    groups = (gates.input, gates.state, gates.input_bias or (None,) * 3, gates.state_bias or (None,) * 3)
    return [part for group in groups for part in group]


def _same_gates(one: Gates, two: Gates) -> bool:
    pairs = zip(_flat(one), _flat(two), strict=True)
    return one.keeps == two.keeps and all(
        a is b or (a is not None and b is not None and _same_bits(a, b)) for a, b in pairs
    )


def _check_rounded(old: list[Gates], new: list[Gates], weights: str, place: str) -> None:
    """Refuse rounded weights that are further from the source's than rounding leads."""
    for one, two in zip(old, new, strict=True):
        for before, after in zip((*one.input, *one.state), (*two.input, *two.state), strict=True):
            before, after = before.astype(np.float64), after.astype(np.float64)
            greatest = np.abs(before).max(1, keepdims=True, initial=1e-30)
            allowed = _INT8_STEPS * greatest / 127 if weights == "int8" else _BFLOAT16_PART * np.abs(before) + 1e-38
            if not bool((np.abs(before - after) <= allowed).all()):
                raise CheckpointError(f"{place}: a rounded weight is not near the source's")


def _moves(gru: FoundGRU, source: Checkpoint, result: Checkpoint, path: str) -> list[str]:
    """The source and target rows of each tensor: one line per gate."""
    old = _from_all_places(places, gru, source)
    new = places(result.stored, path, gru.num_layers, gru.directions, gru.cell)
    if old is None or new is None:
        return []
    lines = []
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        layer, direction = divmod(number, gru.directions)
        where = "" if gru.cell else f"layer {layer}{', backward' if direction else ''}: "
        for gate in {**before, **after}:
            lines.append(f"{where}{gate}: {before.get(gate, 'zeros')} -> {after.get(gate, 'added to the other bias')}")
    return lines


def _compare_kept(source: Checkpoint, result: Checkpoint, report: Conversion, target: str) -> None:
    widened = {line.split(":")[0] for line in report.approximated}
    for name in (*report.kept, *report.transposed):
        new = report.renamed.get(name, name)
        if name in widened:
            continue
        expected = source.stored[name]
        if name in report.transposed:
            expected = StoredTensor(expected.values.T, expected.dtype)
        if new not in result.stored or not expected.same_bits(result.stored[new]):
            raise CheckpointError(f"{target}: {new}: the tensor differs from the source's")
