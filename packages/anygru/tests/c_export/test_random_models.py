"""Files of random models, compiled and compared with the model."""

import pytest
import torch
from c_programs import random_model, tool
from helpers import mostly_slow

from anygru.c_export.checking import BOUNDS, check, prepared, run
from anygru.c_export.operations import recurrences
from anygru.c_export.reading import operations
from anygru.c_export.writing import write


@pytest.mark.parametrize("seed", mostly_slow(range(12), 4))
def test_a_random_model_gives_the_numbers_of_the_layer(seed: int) -> None:
    compare(seed, 200)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 212))
def test_a_random_model_gives_the_numbers_of_the_layer_over_many_steps(seed: int) -> None:
    compare(seed, 10_000)


def compare(seed: int, steps: int) -> None:
    compiler = tool("gcc", "gcc")
    model, weights = random_model(seed)
    found = operations(model, weights)
    bound = max(BOUNDS[gru.weights] for gru in recurrences(found))
    verdict = check(write(found, "model"), prepared(model, weights), bound, steps, [compiler, "-O2"])
    assert verdict.difference <= verdict.bound


@pytest.mark.parametrize(
    "options", mostly_slow([["-O3", "-march=native"], ["-O0"], ["-Os"], ["-O2", "-ffast-math"]]), ids=" ".join
)
@pytest.mark.parametrize("name", mostly_slow(["gcc", "clang"]))
def test_every_optimization_gives_the_same_numbers(name: str, options: list[str]) -> None:
    compiler = tool(name, name)
    for weights in ("float32", "bfloat16", "int8"):
        model, _ = random_model(5)
        source = write(operations(model, weights), "model")
        input = torch.randn(300, source.inputs)
        expected = run(source, input, [compiler, "-O1"])
        torch.testing.assert_close(run(source, input, [compiler, *options]), expected, rtol=0, atol=BOUNDS[weights])
