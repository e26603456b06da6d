"""Whole programs written in a hurry have the results that MXNet 1.9.1 had (recorded by `careless_programs.py`)."""

import json
import lzma
import math
import pathlib
import re

import pytest

import anygru_mxnet as mx

from . import careless_programs

ANSWERS = json.loads(
    lzma.decompress((pathlib.Path(__file__).parent / "data" / "careless_programs.json.xz").read_bytes())
)
KINDS = careless_programs.KINDS
# These rules divide a gradient by its own size, so that a gradient of 0, apart from rounding, becomes a step of any sign: the
# gradient of a shift between two normalizations, or of the first layer of a network with tiny weights.
ADAPTIVE = re.compile("adam|adagrad|adamax|nadam|rmsprop|adadelta", re.IGNORECASE)
MOST_DIFFERENT = 0.006


def close(theirs, ours):
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)):
        same = theirs == ours or (math.isnan(theirs) and math.isnan(ours))
        return same or abs(theirs - ours) <= 3e-4 * max(1, abs(theirs), abs(ours))
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(close, theirs, ours))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        (*kind, first, total), (*own_kind, own_first, own_total) = theirs["array"], ours["array"]
        room = 1e-3 * (1 + sum(map(abs, first)))
        return (
            kind == own_kind and close(first, own_first) and (close(total, own_total) or abs(total - own_total) < room)
        )
    return theirs == ours or (theirs, ours) == ("error RuntimeError", "error MXNetError")  # a subclass


def different(seed, kinds):
    runner, answers = careless_programs.Runner(mx), ANSWERS[seed]
    found = []
    for place, text in enumerate(careless_programs.programs(int(seed), len(answers))):
        if place % len(KINDS) in kinds and not close(answers[place], ours := runner.run(text, place)):
            found.append(f"{text}\n  MXNet: {answers[place]}\n  here: {ours}")
    return found


@pytest.mark.slow
def test_programs_have_mxnets_results():
    found = [text for seed in ANSWERS for text in different(seed, range(len(KINDS)))]
    count = sum(map(len, ANSWERS.values()))
    unexplained = [text for text in found if not ADAPTIVE.search(text)]
    assert not unexplained, unexplained[0]
    assert len(found) <= MOST_DIFFERENT * count, f"{len(found)} of {count}:\n" + "\n".join(found[:5])


@pytest.mark.parametrize("kind", ["arrays", "drawing", "metrics", "buckets"])
def test_programs_of_a_kind_have_mxnets_results(kind):
    place = [each.__name__ for each in KINDS].index(kind)
    found = different(next(iter(ANSWERS)), [place])
    assert not found, f"{len(found)}:\n" + "\n".join(found[:5])
