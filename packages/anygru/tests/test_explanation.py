"""`explain` describes a call without computing it, and raises the errors of the call."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import anygru


def test_a_named_backend_is_why_a_faster_one_is_not_taken() -> None:
    explanation = anygru.explain(anygru.GRU(4, 6, backend="reference"), torch.zeros(5, 3, 4))
    assert "aten       could, but the layer names backend='reference'" in str(explanation)
    assert "aten       could, but comes later" in str(anygru.explain(anygru.GRU(4, 6), torch.zeros(5, 3, 4)))


@pytest.mark.parametrize(
    ("layer", "input"),
    [
        (anygru.GRU(4, 6), torch.zeros(5, 3, 4, dtype=torch.int32)),
        (anygru.GRU(4, 6), torch.zeros(5, 3, 4, dtype=torch.float64)),
        (anygru.GRU(4, 6), torch.zeros(5, 3, 7)),
        (anygru.GRU(4, 6), torch.zeros(4)),
        (anygru.GRU(4, 6), [torch.zeros(5, 3)]),
        (anygru.GRU(4, 6, backend="cudnn"), torch.zeros(5, 3, 4)),
        (anygru.GRUCell(4, 6), torch.zeros(2, 3, 4)),
        (anygru.GRUCell(4, 6), torch.zeros(3, 5)),
    ],
)
def test_what_the_layer_refuses_explain_refuses(layer: nn.Module, input) -> None:
    with pytest.raises(anygru.AnygruError):
        layer(input)
    with pytest.raises(anygru.AnygruError):
        anygru.explain(layer, input)


def test_what_cannot_be_known_or_does_not_belong_is_refused() -> None:
    with pytest.raises(ValueError, match="layer has seen no input yet"):
        anygru.explain(anygru.GRU(None, 6), torch.zeros(5, 3, 4))
    with pytest.raises(TypeError, match="input of a GRUCell must be a dense tensor, got list"):
        anygru.explain(anygru.GRUCell(4, 6), [torch.zeros(3, 4)])
    with pytest.raises(ValueError, match="lengths goes with a GRU, got it with a GRUCell"):
        anygru.explain(nn.GRUCell(4, 6), torch.zeros(3, 4), lengths=[1, 1, 1])


def test_autocast_is_explained_as_the_call_runs() -> None:
    layer, input = anygru.GRU(4, 6), torch.zeros(5, 3, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(input)[0].dtype is torch.bfloat16
        assert anygru.explain(layer, input).problem.dtype is torch.bfloat16


WITHOUT_KERNELS = """
import sys, warnings
sys.modules["anygru._native"] = None
import torch, anygru
layer = anygru.GRU(3, 4)
anygru.GRU(3, 4, activation=torch.sin)(torch.randn(5, 2, 3))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for length in (2, 3, 4):
        layer(torch.randn(length, 2, 3))
    anygru.GRUCell(3, 4)(torch.randn(2, 3))
    model = torch.nn.Sequential(torch.nn.GRU(3, 4))
    print(anygru.accelerate(model))
    model(torch.randn(5, 2, 3))
    print(anygru.accelerate())
print([warning.category.__name__ for warning in seen], seen[0].message)
"""


def test_missing_kernels_are_said_once() -> None:
    command = [sys.executable, "-W", "error", "-c", WITHOUT_KERNELS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("but nothing is faster: the native module of this installation cannot be loaded") == 2
    assert done.stdout.count("['RuntimeWarning'] the native module of this installation cannot be loaded") == 1
