"""Random programs against the answers of Paddle 2.6.2 on a CPU, which `paddle_programs.py` recorded."""

import json
import lzma
import math
import warnings
from pathlib import Path

import paddle_programs
import pytest

import anygru_paddle as paddle

ROWS = json.loads(lzma.decompress((Path(__file__).parent / "paddle_programs.json.xz").read_bytes()))
TOLERANCE = {"float16": 4e-3, "float32": 3e-5, "float64": 1e-6}


def near(mine, theirs, tolerance):
    if not isinstance(theirs, float):
        return mine == theirs
    return math.isclose(mine, theirs, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(mine) and math.isnan(theirs))


def agree(mine, theirs):
    """Whether two results are the same, floating-point numbers within the tolerance of their dtype."""
    if not isinstance(theirs, list) or not isinstance(mine, list):
        return mine == theirs
    if theirs[:1] == mine[:1] == ["array"]:
        tolerance = TOLERANCE.get(theirs[1], 0)
        numbers = zip(mine[3], theirs[3], strict=False)
        return mine[1:3] == theirs[1:3] and all(near(one, other, tolerance) for one, other in numbers)
    return len(mine) == len(theirs) and all(map(agree, mine, theirs))


def difference(number, code, theirs):
    """The difference, as a text; None for equal answers, and for a program that only Paddle refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = paddle_programs.run(code, number, paddle)
    if isinstance(theirs, dict):
        classes = mine["error"] if isinstance(mine, dict) else theirs["error"]
        return None if theirs["error"][0] in classes else f"{mine} for {theirs['error'][0]}"
    if isinstance(mine, dict):
        return f"{mine['error'][0]}, where Paddle computes"
    if len(mine) != len(theirs):
        return f"{len(mine)} results for {len(theirs)}"
    return next(
        (f"{one}\n  for {other}" for one, other in zip(mine, theirs, strict=True) if not agree(one, other)), None
    )


def test_random_programs_compute_what_paddle_computes():
    differences = []
    for number, code, theirs in ROWS["random"]:
        found = difference(number, code, theirs)
        if found is not None:
            differences.append(f"{number}: {code}\n  {found}")
    assert len(differences) < 0.01 * len(ROWS["random"]), "\n\n".join(differences)


@pytest.mark.parametrize(("number", "code", "theirs"), ROWS["written"], ids=[f"{row[0]}" for row in ROWS["written"]])
def test_written_programs_compute_what_paddle_computes(number, code, theirs):
    found = difference(number, code, theirs)
    assert found is None, f"{code}\n  {found}"


def test_the_recorded_programs_are_those_written():
    assert [row[1] for row in ROWS["written"]] == paddle_programs.written()


def test_a_difference_is_found():
    rows = [row for row in ROWS["random"] if isinstance(row[2], list) and row[2] and row[2][0][0] == "tensor"][:20]
    for number, code, theirs in rows:
        changed = [["tensor", "int8", *theirs[0][2:]], *theirs[1:]]
        assert difference(number, code, changed) is not None


def test_whole_programs_train_as_in_paddle(monkeypatch):
    """`paddle_whole_programs.py`: six steps of training, in which rounding errors of float32 add up."""
    monkeypatch.setitem(TOLERANCE, "float32", 5e-3)
    rows = json.loads(lzma.decompress((Path(__file__).parent / "paddle_whole_programs.json.xz").read_bytes()))
    found = [(number, code, difference(number, code, theirs)) for number, code, theirs in rows]
    assert [each for each in found if each[2] is not None] == []
