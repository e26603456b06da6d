"""bfloat16, float16 and autocast on the CPU: torch's own kernel where it is faster, ours elsewhere, both as exact as torch's."""

import copy
import itertools
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import pytest
import torch
from torch import Tensor, nn

import anygru
from anygru.backends import cpu_calls, products

HALVES = (torch.bfloat16, torch.float16)
WORDS = "cpu        could, but torch's own kernel multiplies matrices of these sizes faster in bfloat16 on this CPU"


def take_units(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    """A CPU with units that torch's kernels use and ours do not."""
    monkeypatch.setattr(products, "units", lambda dtype: name)
    monkeypatch.setattr(cpu_calls, "precisions", frozenset)


@pytest.fixture(params=[None, "avx512", "amx"])
def units(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The CPU's instructions for products of half precision."""
    take_units(monkeypatch, request.param)
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


@pytest.mark.needs_torch(2, 10, because="an older torch has no table by which kernels read its tensors")
def test_a_step_in_bfloat16_copies_no_weights(units: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise AssertionError("weights are copied in float32")

    monkeypatch.setattr(cpu_calls, "widened", fail)
    layer, cell = anygru.GRU(512, 512, dtype=torch.bfloat16), anygru.GRUCell(512, 512, dtype=torch.bfloat16)
    with torch.no_grad():
        for batch in (1, products.IN_PLACE):
            input = torch.randn(batch, 512, dtype=torch.bfloat16)
            assert chosen(layer, input[None]) == chosen(cell, input) == "cpu"
            own = copy.deepcopy(layer).float()
            assert torch.equal(layer(input[None])[0], own(input[None].float())[0].bfloat16())
            assert torch.equal(cell(input), copy.deepcopy(cell).float()(input.float()).bfloat16())


def test_a_few_steps_of_large_weights_are_torchs_beside_units_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_calls, "precisions", lambda: frozenset(("high", "float16", "bfloat16")))
    large, small = (anygru.GRU(size, size, dtype=torch.bfloat16) for size in (512, 16))
    for steps, kernel in ((1, "aten"), (3, "aten"), (30, "cpu")):
        assert chosen(large, torch.zeros(steps, 64, 512, dtype=torch.bfloat16)) == kernel
    for steps, kernel in ((1, "aten"), (2, "cpu")):
        assert chosen(small, torch.zeros(steps, 4, 16, dtype=torch.bfloat16)) == kernel
    with torch.no_grad():
        assert chosen(small, torch.zeros(1, 4, 16, dtype=torch.bfloat16)) == "cpu"
        assert chosen(large, torch.zeros(3, 64, 512, dtype=torch.bfloat16)) == "aten"


def test_few_rows_in_half_precision_are_multiplied_as_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking the weights apart would take longer, and torch's kernel as well."""
    monkeypatch.setattr(products, "units", lambda dtype: None)
    monkeypatch.setattr(cpu_calls, "precisions", lambda: frozenset(("high", "float16", "bfloat16")))
    layer, one, many = anygru.GRU(128, 256), torch.zeros(1, 1, 128), torch.zeros(5, 4, 128)
    words = "computes this call, with products of float32, though less exact ones are allowed (for fewer than 16 rows)"
    for own, dtype in ((layer, torch.float32), (copy.deepcopy(layer).bfloat16(), torch.bfloat16)):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=own is layer):
            assert words in str(anygru.explain(own, one.to(dtype)))
            assert "with products of bfloat16" in str(anygru.explain(own, many.to(dtype)))
    assert products.precision(torch.bfloat16, 15) == "highest"
    assert products.precision(torch.bfloat16, 16) == "bfloat16"


def test_what_torchs_kernel_cannot_compute_stays_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    take_units(monkeypatch, "amx")
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
    take_units(monkeypatch, "amx")
    torch.manual_seed(0)
    kind = torch.float32 if autocast else torch.bfloat16
    theirs = nn.GRU(256, 256).to(kind)
    ours = anygru.GRU(256, 256, dtype=kind)
    ours.load_state_dict(theirs.state_dict())
    input = torch.randn(2, 128, 256).to(kind)
    own = torch.bfloat16 if autocast else None
    expected, found = results(theirs, input, own), results(ours, input, own)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


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


@pytest.fixture
def settings() -> Iterator[None]:
    """Restores torch's settings of precision."""
    before = torch.get_float32_matmul_precision()
    yield
    if hasattr(torch.backends.mkldnn, "rnn"):
        torch.backends.mkldnn.rnn.fp32_precision = "none"
    torch.set_float32_matmul_precision(before)


PRECISIONS = {"highest": "highest", "high": "high", "medium": "bfloat16"}


@pytest.mark.usefixtures("settings")
def test_torchs_settings_say_how_exact_products_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting, expected in PRECISIONS.items():
        torch.set_float32_matmul_precision(setting)
        assert products.allowed_precision(torch.float32) == expected
        assert products.allowed_precision(torch.float64) == "highest"
        assert products.allowed_precision(torch.float32, torch.bfloat16) == "bfloat16"
        assert products.allowed_precision(torch.float32, torch.float16) == "float16"
        for available in ((), ("bfloat16",), ("high", "float16", "bfloat16")):
            monkeypatch.setattr(cpu_calls, "precisions", lambda available=available: frozenset(available))
            assert products.precision(torch.float32, 1) == (expected if expected in available else "highest")


@pytest.mark.usefixtures("settings")
@pytest.mark.skipif(not hasattr(torch.backends.mkldnn, "rnn"), reason="this torch has no setting for recurrent layers")
def test_the_setting_of_recurrent_layers_comes_before_that_of_products() -> None:
    torch.set_float32_matmul_precision("medium")
    torch.backends.mkldnn.rnn.fp32_precision = "ieee"
    assert products.allowed_precision(torch.float32) == "highest"
    torch.backends.mkldnn.rnn.fp32_precision = "tf32"
    assert products.allowed_precision(torch.float32) == "high"
    torch.backends.mkldnn.rnn.fp32_precision = "bf16"
    torch.set_float32_matmul_precision("highest")
    assert products.allowed_precision(torch.float32) == "bfloat16"


@pytest.mark.usefixtures("settings")
def test_without_units_every_setting_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_calls, "precisions", frozenset)
    layer, input = anygru.GRU(32, 48), torch.randn(6, 16, 32)
    output, _, *grads = results(layer, input, None)
    for setting in PRECISIONS:
        torch.set_float32_matmul_precision(setting)
        found, _, *others = results(
            layer, input, None
        )  # the input's gradient is a product of torch's, which may have units
        for one, other in zip((found, *others), (output, *grads), strict=True):
            assert torch.equal(one, other)
        words = "with products of float32, though less exact ones are allowed"
        assert (words in str(anygru.explain(layer, input))) == (setting != "highest")


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("kind", ["layer", "cell", "ragged"])
def test_kernels_get_the_precision_forward_and_backward(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = cpu_calls.kind
    monkeypatch.setattr(cpu_calls, "precisions", lambda: frozenset(("high", "float16", "bfloat16")))
    monkeypatch.setattr(cpu_calls, "kind", lambda *facts: asked.append(facts[2]) or plain(*facts[:2]))

    def step() -> set[str]:
        asked.clear()
        cpu_calls.kind_of.cache_clear()
        if kind == "cell":
            anygru.GRUCell(4, 6)(torch.randn(16, 4)).sum().backward()
        else:
            input = torch.randn(6, 3, 4) if kind == "layer" else [torch.randn(9, 4), torch.randn(9, 4)]
            output = anygru.GRU(4, 6)(input)[0]
            (output if kind == "layer" else torch.cat(output)).sum().backward()
        return set(asked)

    assert step() == {"highest"}
    torch.set_float32_matmul_precision("high")
    assert step() == {"high"}
    torch.set_float32_matmul_precision("medium")
    assert step() == {"bfloat16"}
    torch.set_float32_matmul_precision("highest")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert step() == {"bfloat16"}
        assert "with products of bfloat16" in str(anygru.explain(anygru.GRU(4, 6), torch.zeros(6, 3, 4)))
    layer = anygru.GRU(4, 6, dtype=torch.bfloat16)
    asked.clear()
    cpu_calls.kind_of.cache_clear()
    layer(torch.zeros(6, 3, 4, dtype=torch.bfloat16))[0].sum().backward()
    assert set(asked) == {"bfloat16"}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("reset", ["after", "before"])
def test_inference_is_that_of_float32_rounded_once(dtype: torch.dtype, reset: str) -> None:
    """With the products that the dtype allows, where the CPU has units for them."""
    layer = anygru.GRU(5, 7, 2, bidirectional=True, reset=reset).to(dtype)
    input, h_0 = torch.randn(4, 3, 5).to(dtype), torch.randn(4, 3, 7).to(dtype)
    cell = anygru.GRUCell(5, 7, reset=reset).to(dtype)
    allowed = torch.autocast("cpu", dtype)(lambda module, *given: module(*given))
    wide, wide_cell = copy.deepcopy(layer).float(), copy.deepcopy(cell).float()
    with torch.no_grad():
        for state in (None, h_0):
            expected = allowed(wide, input.float(), None if state is None else state.float())
            for one, other in zip(layer(input, state), expected, strict=True):
                assert torch.equal(one, other.to(dtype))
        for each in (input[0], input[0, 0]):
            h = h_0[0] if each.dim() == 2 else h_0[0, 0]
            assert torch.equal(cell(each, h), allowed(wide_cell, each.float(), h.float()).to(dtype))
            assert torch.equal(cell(each), allowed(wide_cell, each.float()).to(dtype))
        with pytest.raises(TypeError, match="h_0 must be"):
            layer(input, h_0.float())
        with pytest.raises(ValueError, match="must have I = 5|must have 5|input"):
            layer(input[..., :4])
        with pytest.raises(TypeError):
            cell(input[0], h_0[0].float())


def functions_of_ours(work: Callable[..., object], *call: Tensor) -> int:
    """How many calls of Python functions of the package a call makes."""
    found = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal found
        found += event == "call" and "anygru/" in frame.f_code.co_filename and "test" not in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        work(*call)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("options", [{}, {"num_layers": 2}, {"bidirectional": True}, {"bias": False}], ids=str)
def test_a_training_step_that_torch_takes_passes_few_functions(
    options: dict[str, int | bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    take_units(monkeypatch, "amx")
    monkeypatch.setattr(products, "LIMITS", {"amx": 0.0})
    theirs = nn.GRU(5, 6, dtype=torch.bfloat16, **options)
    layer = anygru.GRU(5, 6, dtype=torch.bfloat16, **options)
    layer.load_state_dict(theirs.state_dict())
    states = layer.num_layers * (1 + layer.bidirectional)
    input, h_0 = (torch.randn(size, dtype=torch.bfloat16) for size in ((1, 3, 5), (states, 3, 6)))
    for call in ((input,), (input, h_0)):
        layer(*call)  # the first call of its sizes checks them
        assert functions_of_ours(layer, *call) <= 40
        for found, expected in zip(layer(*call), theirs(*call), strict=True):
            assert torch.equal(found, expected)
        layer(*call)[0].sum().backward()
        theirs(*call)[0].sum().backward()
        assert torch.equal(layer.weight_hh_l0.grad, theirs.weight_hh_l0.grad)
        layer.zero_grad()
        theirs.zero_grad()
    with pytest.raises(anygru.ArgumentError, match="I = 5"):
        layer(input[..., :4])
    with pytest.raises(anygru.ArgumentError, match="h_0 must be"):
        layer(input, h_0[:, :2])


@pytest.mark.parametrize("make", [nn.GRUCell, anygru.GRUCell])
def test_autocast_takes_a_state_of_a_cell_in_any_dtype(make: type[nn.Module]) -> None:
    """torch computes such a step; a state that an earlier step of another layer gave is often in half precision."""
    cell = make(3, 4)
    anygru.accelerate(cell)
    input, h = torch.randn(2, 3), torch.randn(2, 4)
    with torch.autocast("cpu", torch.bfloat16):
        expected = cell(input, h)
        for dtype in (torch.bfloat16, torch.float16):
            torch.testing.assert_close(cell(input, h.to(dtype)).float(), expected.float(), rtol=2e-2, atol=2e-2)
        with pytest.raises((ValueError, RuntimeError), match=r"h must be \[B, H\]|hidden"):
            cell(input, torch.randn(2, 5))


DTYPES = (torch.float32, torch.float64, *HALVES)


@pytest.mark.parametrize("name", ["GRU", "GRUCell"])
@pytest.mark.parametrize("way", ["accelerated", "anygru"])
@pytest.mark.parametrize("trains", [True, False], ids=["train", "eval"])
def test_autocast_gives_the_dtypes_of_torch(name: str, way: str, trains: bool) -> None:
    """Of layer, input, state and autocast, in every combination that torch computes."""
    computed = 0
    for layer, input, state, cast in itertools.product(DTYPES, DTYPES, (None, *DTYPES), HALVES):
        theirs = getattr(nn, name)(3, 4, dtype=layer).train(trains)
        ours = getattr(nn if way == "accelerated" else anygru, name)(3, 4, dtype=layer).train(trains)
        ours.load_state_dict(theirs.state_dict())
        if way == "accelerated":
            anygru.accelerate(ours)
        of_batch, of_state = ((5, 2, 3), (1, 2, 4)) if name == "GRU" else ((2, 3), (2, 4))
        given = (torch.randn(of_batch, dtype=input), None if state is None else torch.randn(of_state, dtype=state))
        with torch.autocast("cpu", cast), torch.set_grad_enabled(trains):
            try:
                expected = theirs(*given)
            except RuntimeError:  # torch does not cast float64
                with pytest.raises((ValueError, TypeError, RuntimeError)):
                    ours(*given)
                continue
            found = ours(*given)
        computed += 1
        for one, other in zip(found, expected, strict=True) if name == "GRU" else ((found, expected),):
            assert one.dtype is other.dtype, (layer, input, state, cast)
            torch.testing.assert_close(one.float(), other.float(), rtol=5e-2, atol=5e-2)
    assert computed > 50
