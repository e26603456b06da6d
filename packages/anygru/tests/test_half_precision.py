"""bfloat16, float16 and autocast on the CPU: torch's own kernel where it is faster, ours elsewhere, both as exact as torch's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import anygru
from anygru.backends import products

HALVES = (torch.bfloat16, torch.float16)
WORDS = "cpu        could, but torch's own kernel multiplies matrices of these sizes faster in bfloat16 on this CPU"


@pytest.fixture(params=[None, "avx512", "amx"])
def units(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What the CPU has for products of half precision."""
    monkeypatch.setattr(products, "units", lambda dtype: request.param)
    return request.param


def chosen(layer: nn.Module, input: Tensor | list[Tensor], **options) -> str:
    return anygru.explain(layer, input, **options).backend


@pytest.mark.parametrize("dtype", HALVES)
def test_torchs_kernel_takes_large_products_if_the_cpu_has_units(dtype: torch.dtype, units: str | None) -> None:
    layer = anygru.GRU(128, 128, dtype=dtype)  # 98,304 weights
    many, some, few = (torch.zeros(50, batch, 128, dtype=dtype) for batch in (160, 64, 16))
    assert chosen(layer, many) == ("cpu" if units is None else "aten")
    assert chosen(layer, some) == ("aten" if units == "amx" else "cpu")
    assert chosen(layer, few) == "cpu"
    first = anygru.GRU.around(layer.weights, batch_first=True)
    assert chosen(first, many.transpose(0, 1)) == chosen(layer, many)
    assert chosen(first, few.transpose(0, 1)) == "cpu"
    assert chosen(layer, [torch.zeros(3, 128, dtype=dtype)] * 160) == chosen(layer, many)
    assert chosen(layer, [torch.zeros(50, 128, dtype=dtype)] + [torch.zeros(1, 128, dtype=dtype)] * 127) == "cpu"


def test_a_few_steps_of_one_sequence_are_read_in_half_the_width(units: str | None) -> None:
    layer = anygru.GRU(512, 512, dtype=torch.bfloat16)
    assert chosen(layer, torch.zeros(1, 1, 512, dtype=torch.bfloat16)) == "aten"
    assert chosen(layer, torch.zeros(1, 512, dtype=torch.bfloat16)) == "aten"
    assert chosen(layer, torch.zeros(50, 1, 512, dtype=torch.bfloat16)) == "cpu"
    assert chosen(layer, torch.zeros(50, 512, dtype=torch.bfloat16)) == "cpu"
    cell = anygru.GRUCell(512, 512, dtype=torch.bfloat16)
    assert chosen(cell, torch.zeros(512, dtype=torch.bfloat16)) == "aten"
    assert chosen(cell, torch.zeros(2, 512, dtype=torch.bfloat16)) == ("cpu" if units is None else "aten")


def test_what_torchs_kernel_cannot_compute_stays_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "units", lambda dtype: "amx")
    large = torch.zeros(2, 512, 512, dtype=torch.bfloat16)
    assert WORDS in str(anygru.explain(anygru.GRU(512, 512, dtype=torch.bfloat16), large))
    assert chosen(anygru.GRU(512, 512, dtype=torch.bfloat16, reset="before"), large) == "cpu"
    assert chosen(anygru.GRU(512, 512, dtype=torch.bfloat16, norm="layer"), large) == "cpu"
    assert chosen(anygru.GRU(512, 512, dtype=torch.bfloat16), large, resets=True) == "cpu"
    assert chosen(anygru.GRU(512, 512, dtype=torch.bfloat16, backend="cpu"), large) == "cpu"
    assert chosen(anygru.GRU(512, 512), large.float()) == "cpu"


def test_autocast_takes_torchs_kernel_where_that_is_faster(units: str | None) -> None:
    layer = anygru.GRU(256, 256)  # 393,216 weights
    input = torch.zeros(2, 256, 256)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert chosen(layer, input) == ("cpu" if units is None else "aten")
        assert chosen(layer, input[:, :96]) == ("cpu" if units is None else "aten")
        assert chosen(layer, input[:, :16]) == "cpu"
        with torch.no_grad():  # torch's kernel needs larger products to win: it casts the weights in each call
            assert chosen(layer, input[:, :96]) == ("aten" if units == "amx" else "cpu")
    assert chosen(layer, input) == "cpu"


def results(layer: nn.Module, input: Tensor, dtype: torch.dtype | None) -> list[Tensor]:
    """The output and all gradients, computed in the layer's dtype or under autocast."""
    input = input.detach().requires_grad_()
    layer.zero_grad()
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        output = layer(input)[0]
    output.float().square().sum().backward()
    return [output, input.grad, *(weight.grad for weight in layer.parameters())]


def error(found: list[Tensor], exact: list[Tensor]) -> list[float]:
    return [((one - other).norm() / other.norm()).item() for one, other in zip(found, exact, strict=True)]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("autocast", [False, True])
def test_gradients_are_as_exact_as_torchs(dtype: torch.dtype, autocast: bool, units: str | None) -> None:
    torch.manual_seed(0)
    theirs = nn.GRU(32, 48).to(torch.float32 if autocast else dtype)
    ours = anygru.GRU(32, 48, dtype=torch.float32 if autocast else dtype)
    ours.load_state_dict(theirs.state_dict())
    input = torch.randn(6, 16, 32).to(torch.float32 if autocast else dtype)
    own = dtype if autocast else None
    expected, found = results(theirs, input, own), results(ours, input, own)
    twin = nn.GRU(32, 48).double()
    twin.load_state_dict(theirs.state_dict())
    exact = results(twin, input.double(), None)
    for one, other in zip(error(found, exact), error(expected, exact), strict=True):
        assert one <= 1.1 * other
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype


@pytest.mark.parametrize("autocast", [False, True])
def test_the_taken_kernel_gives_torchs_bits(autocast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "units", lambda dtype: "amx")
    torch.manual_seed(0)
    kind = torch.float32 if autocast else torch.bfloat16
    theirs = nn.GRU(256, 256).to(kind)
    ours = anygru.GRU(256, 256, dtype=kind)
    ours.load_state_dict(theirs.state_dict())
    input = torch.randn(2, 128, 256).to(kind)
    own = torch.bfloat16 if autocast else None
    expected, found = results(theirs, input, own), results(ours, input, own)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)


def test_accelerated_layers_go_the_same_ways(units: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = anygru.functional.compute
    monkeypatch.setattr(anygru.functional, "compute", lambda *call: calls.append(1) or plain(*call))
    layer = nn.GRU(256, 256)
    input = torch.randn(2, 192, 256)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = layer(input)[0]
    with anygru.accelerate(layer), torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(input)[0]
        assert len(calls) == (units is None)
        small = layer(input[:, :2])[0]
        assert len(calls) == 1 + (units is None)
    assert found.dtype is expected.dtype is small.dtype
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0.02)
    torch.testing.assert_close(small, expected[:, :2], rtol=0.05, atol=0.02)
    half = layer.bfloat16()
    with anygru.accelerate(half):
        half(input.bfloat16())
        assert len(calls) == 1 + 2 * (units is None)
