"""Random programs give the results of Chainer 7.8.1: outputs, first and second gradients, exceptions."""

import json
import lzma
import warnings
from pathlib import Path

import numpy as np
import pytest
import random_programs
from helpers import mostly_slow

import anygru_chainer as chainer

RECORDED = Path(__file__).parent / "data" / "random_programs_7.8.1.json.xz"
TOLERANCES = {"float16": 1e-2, "float32": 2e-4, "float64": 1e-7}
LOOSE = {"y": 1, "g": 3, "gg": 5}


@pytest.fixture(scope="module")
def recorded():
    with lzma.open(RECORDED, "rt") as file:
        return json.load(file)


def difference(ours, real, loose):
    """How two kept arrays differ, None if they do not."""
    if ours is None or real is None or ours[:3] != real[:3]:
        return None if ours == real else f"{ours} instead of {real}"
    tolerance = loose * TOLERANCES.get(real[0], 0) * (real[3][1] + 1)
    if all(abs(a - b) <= tolerance + 2e-6 * abs(b) for a, b in zip(ours[3], real[3], strict=True)):
        return None
    return f"{ours} instead of {real}"


def differences(ours, real):
    for stage, expected in real.items():
        found = ours.get(stage)
        refused = bool(expected) and isinstance(expected[0], str)
        raised = bool(found) and isinstance(found[0], str)
        if refused:
            if raised and stage == "y" and expected[0] not in found:
                yield f"{stage}: {found[0]} instead of {expected[0]}"
            return  # a result is allowed where Chainer raises
        if found is None:
            yield f"{stage}: nothing instead of {expected}"
        elif raised:
            yield f"{stage}: {found[0]} instead of {expected}"
        else:
            pairs = zip(found, expected, strict=True)
            yield from (f"{stage}: {text}" for pair in pairs if (text := difference(*pair, LOOSE[stage])))


@pytest.mark.parametrize("part", mostly_slow(range(10), 4))
def test_they_are_what_chainer_gave(recorded, part):
    wrong = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(part, random_programs.N_PROGRAMS, 10):
            found = list(differences(random_programs.run(chainer, number), recorded[str(number)]))
            if found:
                wrong[number] = found
    assert not wrong
