"""`explain` says what a call would do, and raises what it would raise."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import grus


def test_a_named_backend_is_why_a_faster_one_is_not_taken() -> None:
    explanation = grus.explain(grus.GRU(4, 6, backend="reference"), torch.zeros(5, 3, 4))
    assert "aten       could, but the layer names backend='reference'" in str(explanation)
    assert "aten       could, but comes later" in str(grus.explain(grus.GRU(4, 6), torch.zeros(5, 3, 4)))


@pytest.mark.parametrize(
    ("layer", "input"),
    [
        (grus.GRU(4, 6), torch.zeros(5, 3, 4, dtype=torch.int32)),
        (grus.GRU(4, 6), torch.zeros(5, 3, 4, dtype=torch.float64)),
        (grus.GRU(4, 6), torch.zeros(5, 3, 7)),
        (grus.GRU(4, 6), torch.zeros(4)),
        (grus.GRU(4, 6), [torch.zeros(5, 3)]),
        (grus.GRU(4, 6, backend="cudnn"), torch.zeros(5, 3, 4)),
        (grus.GRUCell(4, 6), torch.zeros(2, 3, 4)),
        (grus.GRUCell(4, 6), torch.zeros(3, 5)),
    ],
)
def test_what_the_layer_refuses_explain_refuses(layer: nn.Module, input) -> None:
    with pytest.raises(grus.GrusError):
        layer(input)
    with pytest.raises(grus.GrusError):
        grus.explain(layer, input)


def test_what_cannot_be_known_or_does_not_belong_is_refused() -> None:
    with pytest.raises(ValueError, match="layer has seen no input yet"):
        grus.explain(grus.GRU(None, 6), torch.zeros(5, 3, 4))
    with pytest.raises(TypeError, match="input of a GRUCell must be a dense tensor, got list"):
        grus.explain(grus.GRUCell(4, 6), [torch.zeros(3, 4)])
    with pytest.raises(ValueError, match="lengths goes with a GRU, got it with a GRUCell"):
        grus.explain(nn.GRUCell(4, 6), torch.zeros(3, 4), lengths=[1, 1, 1])


def test_autocast_is_explained_as_the_call_runs() -> None:
    layer, input = grus.GRU(4, 6), torch.zeros(5, 3, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(input)[0].dtype is torch.float32
        assert grus.explain(layer, input).problem.dtype is torch.float32
