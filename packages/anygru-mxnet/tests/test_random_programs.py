"""Random programs have the results that MXNet 1.9.1 had; `random_programs.py` draws and recorded them.

Programs with wrong or undefined results in MXNet are not drawn; the README lists these results.
"""

import json
import lzma
import pathlib

import numpy as np
import pytest

import anygru_mxnet as mx

from . import random_programs

ANSWERS = json.loads(lzma.decompress((pathlib.Path(__file__).parent / "data" / "random_programs.json.xz").read_bytes()))
TOLERANCES = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-5}


def differ(theirs, ours):
    """How two results differ, or None."""
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return f"{len(theirs)} results, {len(ours)} here"
        return next((found for pair in zip(theirs, ours, strict=True) if (found := differ(*pair))), None)
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if "error" in theirs or "error" in ours:
            mine = ours.get("error", ["no error"])
            return None if theirs.get("error", [""])[0] in mine else f"{theirs}, here {ours}"
        (kind, shape, numbers, size), (own_kind, own_shape, own_numbers, _) = theirs["sum"], ours["sum"]
        if (kind, shape) != (own_kind, own_shape):
            return f"{kind}{shape}, here {own_kind}{own_shape}"
        tolerance = TOLERANCES.get(kind, 0)
        pair = [np.array(each, float) for each in (numbers, own_numbers)]
        room = [tolerance] * (len(numbers) - 1) + [tolerance * (1 + float(size))]
        with np.errstate(invalid="ignore"):
            close = np.isclose(*pair, rtol=max(tolerance, 1e-6), atol=room, equal_nan=True)
        return None if close.all() else f"{numbers}, here {own_numbers}"
    return None if theirs == ours else f"{theirs}, here {ours}"


PROGRAMS = random_programs.programs(ANSWERS["seed"], ANSWERS["count"])
KINDS = [kind.__name__ for kind in random_programs.KINDS]


@pytest.mark.parametrize("kind", [*dict.fromkeys(KINDS), "fixed"])
def test_programs_have_mxnets_results(kind):
    runner, many = random_programs.Runner(mx), len(KINDS)
    wrong, tried = [], 0
    for place, (text, answer) in enumerate(zip(PROGRAMS, ANSWERS["answers"], strict=True)):
        drawn = KINDS[place % many] if place < ANSWERS["count"] else "fixed"
        if drawn != kind or answer is None:
            continue
        if isinstance(answer, dict) and "error" in answer:
            continue
        tried += 1
        if found := differ(answer, runner.run(text)):
            wrong.append(f"{text}\n  {found}")
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:8])
    assert tried > 30


def test_a_wrong_result_is_noticed():
    runner = random_programs.Runner(mx)
    right = runner.run("out = nd.array([1, 2, 3])")
    for other in (
        "nd.array([1, 3, 2])",
        "nd.array([1, 2, 4])",
        "nd.array([[1, 2, 3]])",
        "nd.array([1, 2, 3], dtype='int32')",
        "[nd.array([1])]",
        "1 / 0",
    ):
        assert differ(right, runner.run("out = " + other))
