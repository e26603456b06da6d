"""How weights are stored in float32, bfloat16 and int8."""

import numpy as np
import pytest
import torch

import anygru
from anygru.errors import ArgumentError
from anygru.facts.quantization import DTYPES, dequantize, quantize


def test_float32_stays_and_bfloat16_is_rounded_to_nearest_even() -> None:
    weight = torch.tensor([[1.0, 1.0 + 2**-8, 1.0 + 3 * 2**-8, -3.14159]])
    assert dequantize(quantize(weight, "float32")).data_ptr() == weight.data_ptr()
    stored = quantize(weight, "bfloat16")
    assert stored.values.dtype is torch.bfloat16
    assert stored.scale is None
    assert dequantize(stored).tolist() == [[1.0, 1.0, 1.0 + 2**-6, -3.140625]]


def test_int8_has_a_symmetric_scale_for_each_row() -> None:
    weight = np.random.default_rng(0).normal(size=(12, 33)).astype(np.float32) * np.logspace(-6, 6, 12)[:, None]
    weight = weight.astype(np.float32)
    values, scale = quantize(torch.from_numpy(weight), "int8")
    assert scale is not None
    assert values.dtype is torch.int8
    assert scale.dtype is torch.float32
    assert np.allclose(scale.numpy(), np.abs(weight).max(1) / 127, rtol=1e-6)
    assert values.abs().amax(1).tolist() == [127] * 12
    error = np.abs(dequantize(quantize(torch.from_numpy(weight), "int8")).numpy().astype(np.float64) - weight)
    assert (error <= 1.5 * scale.numpy()[:, None]).all()
    assert (error <= 0.5001 * scale.numpy()[:, None]).mean() > 0.8, "most are the nearest"


def test_more_than_1024_columns_are_rounded_in_parts() -> None:
    """Their second moments would take 80 GB for 100,000 inputs."""
    weight = torch.randn(6, 1030)
    weight[:, ::1025] = 5.0  # in both parts, so that each has the scale of the whole
    whole, first, last = (quantize(part, "int8").values for part in (weight, weight[:, :1024], weight[:, 1024:]))
    assert torch.equal(whole, torch.cat([first, last], 1))


@pytest.mark.parametrize("weights", DTYPES)
def test_biases_stay_float32(weights: str) -> None:
    bias = torch.randn(6)
    stored = quantize(bias, weights)
    assert torch.equal(stored.values, bias)
    assert stored.scale is None


def test_rows_of_zeros_and_of_the_smallest_numbers_have_positive_scales() -> None:
    values, scale = quantize(torch.tensor([[0.0, 0.0], [1e-44, 0.0], [3e38, -1.0]]), "int8")
    assert scale is not None
    assert bool((scale > 0).all())
    assert bool(torch.isfinite(scale).all())
    assert values[0].tolist() == [0, 0]
    assert quantize(torch.empty(6, 0), "int8").values.shape == (6, 0)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_int8_refuses_weights_that_are_not_finite(wrong: float) -> None:
    with pytest.raises(ArgumentError, match="finite"):
        quantize(torch.tensor([[1.0, wrong]]), "int8")


@pytest.mark.parametrize("name", ["int4", "", None, torch.int8])
def test_other_formats_are_named_in_the_error(name: object) -> None:
    with pytest.raises(ArgumentError, match="float32, bfloat16, bfloat16_rows, int8"):
        quantize(torch.ones(3, 1), name)  # type: ignore[arg-type]


@pytest.mark.parametrize("features", [7, 256, 1024, 4096])
def test_the_bound_of_rounded_rows(features: int) -> None:
    """docs/deploy.md has it: a product differs by max|x| times the sum of |w| over a row, divided by 65,024."""
    torch.manual_seed(features)
    layer = anygru.GRU(features, 16, bias=False).freeze("int8")
    x = torch.randn(1, 32, features)
    weight = layer.frozen_weights.dequantized()[0].double().numpy()
    gates = x[0].double().numpy() @ weight.T
    update, candidate = 1 / (1 + np.exp(-gates[:, 16:32])), np.tanh(gates[:, 32:])
    bound = np.abs(x[0].numpy()).max(1) * np.abs(weight).sum(1).max() / 65024
    error = np.abs(layer(x)[0][0].numpy() - (1 - update) * candidate).max(1)
    assert (error <= 1.25 * bound + 1e-6).all(), "the update gate adds a quarter"
    assert error.max() <= 2.5e-5 * features**0.5, "errors cancel: they grow as the square root"


@pytest.mark.parametrize("columns", [1, 3, 24, 1100])
@pytest.mark.parametrize("unit", [1 / 256, 0.0123456])
def test_weights_that_were_int8_stay_what_they_are(columns: int, unit: float) -> None:
    """RNNoise's weights are n / 256; other programs' weights are whole multiples of their own scale."""
    generator = torch.Generator().manual_seed(0)
    wholes = torch.randint(-60, 61, (3 * 5, columns), generator=generator).float()
    wholes[3] = torch.randint(-127, 128, (columns,), generator=generator).float()
    wholes[4] = 0
    found = dequantize(quantize(wholes * unit, "int8"))
    torch.testing.assert_close(found, wholes * unit, rtol=3e-7, atol=0)
    assert unit != 1 / 256 or columns < 24 or torch.equal(found, wholes * unit)
