"""The recipe of DreamerV3's cell against the public formula (`RSSM._core`), written out in float64 NumPy."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import close, sigmoid

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "dreamer_cell.py"))


def numpy_cell(cell: Any, inputs: list[np.ndarray], h: np.ndarray, blocks: int) -> np.ndarray:
    weights = {name: parameter.detach().numpy() for name, parameter in cell.named_parameters()}

    def act(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        x = x / np.sqrt((x * x).mean() + 1e-4) * scale
        return x * sigmoid(x)

    def block_linear(x: np.ndarray, name: str) -> np.ndarray:
        parts = np.split(x, blocks)
        return (
            np.concatenate([w @ part for w, part in zip(weights[f"{name}.weight"], parts, strict=True)])
            + weights[f"{name}.bias"]
        )

    new = np.zeros_like(h)
    for b in range(len(h)):
        read = [
            act(
                weights[f"project.{k}.0.weight"] @ x[b] + weights[f"project.{k}.0.bias"],
                weights[f"project.{k}.1.weight"],
            )
            for k, x in enumerate([h, *inputs])
        ]
        x = np.concatenate([np.concatenate([part, *read]) for part in np.split(h[b], blocks)])
        for layer in range(len(cell.hidden)):
            x = act(block_linear(x, f"hidden.{layer}.0"), weights[f"hidden.{layer}.1.weight"])
        gates = [np.split(part, 3) for part in np.split(block_linear(x, "gates"), blocks)]
        reset, candidate, update = (np.concatenate([part[k] for part in gates]) for k in range(3))
        update = sigmoid(update - 1)
        new[b] = update * np.tanh(sigmoid(reset) * candidate) + (1 - update) * h[b]
    return new


@pytest.mark.parametrize("layers", [1, 2])
def test_against_numpy_and_finite_differences(recipe: dict[str, Any], layers: int) -> None:
    torch.manual_seed(0)
    cell = recipe["DreamerCell"]([5, 3], 8, 6, blocks=4, layers=layers).double()
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter)
    inputs = [torch.randn(2, size, dtype=torch.float64) for size in (5, 3)]
    h = torch.randn(2, 8, dtype=torch.float64)
    expected = numpy_cell(cell, [one.numpy() for one in inputs], h.numpy(), 4)
    close(cell(inputs, h), torch.from_numpy(expected))
    assert torch.autograd.gradcheck(
        lambda x, h: cell([x, inputs[1]], h), (inputs[0].requires_grad_(), h.requires_grad_())
    )


def test_the_block_gru_begins_with_an_update_bias_of_minus_one(recipe: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer = recipe["block_gru"](5, 8, 4)
    with torch.no_grad():
        layer.weight_ih_l0.zero_()
        layer.weight_hh_l0.zero_()
        for bias in (layer.bias_ih_l0, layer.bias_hh_l0):
            bias.unflatten(1, (3, -1))[:, 2] = 0.0  # of the candidate
        _, h_n = layer(torch.zeros(1, 1, 5), torch.ones(1, 1, 8))
    close(h_n, torch.full((1, 1, 8), 1 - 1 / (1 + np.e), dtype=torch.float64))  # 1 - s(0 - 1) of the state stays
