"""Models that are read, and the errors of other models."""

import warnings
from pathlib import Path

import pytest
import torch
from c_programs import tool
from torch import nn

import anygru
from anygru.c_export import Residual, checking
from anygru.c_export.checking import CheckError
from anygru.c_export.exporting import source_of
from anygru.errors import ArgumentError


class Denoiser(nn.Module):
    """A module with a method that describes its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 6, 2, batch_first=True)
        self.mask = nn.Linear(6, 4)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.mask(self.gru(input)[0]))

    def c_parts(self) -> nn.Module:
        return nn.Sequential(self.gru, self.mask, nn.Sigmoid())


@pytest.mark.parametrize("weights", [None, "int8"])
def test_a_module_of_ones_own(weights: str | None) -> None:
    tool("gcc", "gcc")
    model = Denoiser()
    verdict = source_of(model, "denoiser", weights, True).verdict
    assert verdict is not None
    assert isinstance(model.gru, nn.GRU), "the model is left as it was"


class Forgetful(Denoiser):
    """A model with a `c_parts` that omits a part of its forward."""

    def c_parts(self) -> nn.Module:
        return nn.Sequential(self.gru, self.mask)


@pytest.mark.parametrize("weights", [None, "int8"])
@pytest.mark.parametrize("inside", [False, True])
def test_the_file_is_compared_with_the_model_and_not_with_its_parts(inside: bool, weights: str | None) -> None:
    tool("gcc", "gcc")
    model = nn.Sequential(nn.Linear(4, 4), Forgetful()) if inside else Forgetful()
    with pytest.raises(CheckError, match=r"computes other numbers than the model.*c_parts\(\) leaves out"):
        source_of(model, "denoiser", weights, True)


class Twice(Denoiser):
    """A model with a forward that takes only steps, and returns two results."""

    def forward(self, input: torch.Tensor) -> tuple[torch.Tensor, int]:
        assert input.dim() == 2
        return super().forward(input[None])[0], 1


def test_an_example_says_how_a_model_is_called() -> None:
    tool("gcc", "gcc")
    with pytest.raises(CheckError, match="Twice cannot be called with .* give example="):
        source_of(Twice(), "twice", None, True)
    verdict = source_of(Twice(), "twice", None, True, torch.randn(70, 4)).verdict
    assert verdict is not None
    assert verdict.steps == 70
    for wrong in (torch.randn(70, 3), torch.randn(2, 5, 4), torch.randn(4), "text"):
        with pytest.raises(ArgumentError, match="example must be one sequence"):
            source_of(Twice(), "twice", None, True, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "model",
    [
        nn.GRU(3, 5, 2, bidirectional=True),
        nn.GRUCell(3, 5),
        anygru.GRUCell(3, 5, reset="before"),
        anygru.GRU(3, 5).freeze("int8"),
        anygru.GRUCell(3, 5).freeze("bfloat16"),
        nn.utils.parametrizations.weight_norm(anygru.GRU(3, 5), "weight_hh_l0"),
        nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Sequential(anygru.GRU(3, 5), nn.Identity()), nn.Hardtanh()),
        Residual(Residual(anygru.GRU(3, 3)), nn.Softsign(), nn.Hardsigmoid()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_are_taken(model: nn.Module) -> None:
    tool("gcc", "gcc")
    verdict = source_of(model, "model", None, True).verdict
    assert verdict is not None


def test_a_module_in_two_places_acts_twice() -> None:
    tool("gcc", "gcc")
    gru, linear = anygru.GRU(3, 3), nn.Linear(3, 3)
    exported = source_of(nn.Sequential(gru, linear, gru, linear), "model", None, True)
    assert exported.source.state == 2 * 4 * 3, "each place has its state"
    assert exported.source.text.count("linear, 3 to 3") == 2


class Amplifier(Residual):
    """A class that only builds a row of modules."""

    def __init__(self) -> None:
        super().__init__(nn.Sequential(anygru.GRU(1, 4)), nn.Linear(4, 1))


def test_a_class_that_builds_a_row_is_taken() -> None:
    tool("gcc", "gcc")
    verdict = source_of(Amplifier(), "model", None, True).verdict
    assert verdict is not None


class Parts(nn.Module):
    """A module with a wrong `c_parts`."""

    def __init__(self, parts: object) -> None:
        super().__init__()
        self.c_parts = parts


def endless() -> nn.Module:
    module = Parts(None)
    module.c_parts = lambda: nn.Sequential(anygru.GRU(3, 5), module)
    return module


def no_features() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about a matrix without elements
        return sequence(nn.Linear(5, 0))


class Own(anygru.GRU):
    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs)


def sequence(*modules: nn.Module) -> nn.Sequential:
    return nn.Sequential(anygru.GRU(3, 5), *modules)


def hooked() -> nn.Module:
    model = sequence(nn.Linear(5, 2))
    model[1].register_forward_hook(lambda *args: None)
    return model


def with_nan() -> nn.Module:
    model = sequence()
    with torch.no_grad():
        model[0].weight_hh_l0[2, 3] = float("nan")
    return model


REFUSED = {
    "no GRU": (nn.Sequential(nn.Linear(2, 3)), None, "must hold a GRU"),
    "LSTM": (nn.Sequential(nn.LSTM(3, 5)), None, "must contain a GRU"),
    "convolution": (sequence(nn.Conv1d(5, 5, 3)), None, "1: a file in C has no .*Conv1d; it takes GRUs.*c_parts"),
    "widths": (sequence(nn.Linear(4, 2)), None, "1 takes 4 features, and the module before it gives 5"),
    "sum": (Residual(anygru.GRU(3, 5)), None, "adds its input of 3 features to 5"),
    "function": (anygru.GRU(3, 5, activation=torch.sin), None, "activation is the function sin"),
    "option": (sequence(nn.GELU(approximate="tanh")), None, "1: approximate must be 'none'"),
    "double": (anygru.GRU(3, 5).double(), None, "must be float32, got torch.float64: call the model's float"),
    "half head": (sequence(nn.Linear(5, 2).half()), None, "1.weight must be float32, got torch.float16"),
    "lazy": (anygru.GRU(None, 5), None, "has seen no input"),
    "lazy head": (sequence(nn.LazyLinear(4)), None, "1 has seen no input yet"),
    "norm, int8": (anygru.GRU(3, 5, norm="layer"), "int8", "no layer norm"),
    "frozen otherwise": (anygru.GRU(3, 5).freeze("int8"), "bfloat16", "is frozen with 'int8'"),
    "rows of bfloat16": (anygru.GRU(3, 5), "bfloat16_rows", "C multiplies rows of float32 only"),
    "format": (anygru.GRU(3, 5), "int4", "weights must be one of float32, bfloat16, bfloat16_rows, int8"),
    "own forward": (Own(3, 5), None, "Own has a `forward` of its own"),
    "hooks": (hooked(), None, "1: it has hooks"),
    "NaN": (with_nan(), None, "0.weight_hh_l0 must be finite"),
    "parts that are no method": (sequence(Parts(3)), None, "1: c_parts must be a method, got int"),
    "parts of no module": (Parts(lambda: [nn.GRU(3, 5)]), None, r"model: c_parts\(\) must return a .*Module, got list"),
    "endless parts": (endless(), None, "1: c_parts.* must return other modules"),
    "no features": (no_features(), None, "1: a Linear must have features, got 5 to 0"),
    "epsilon": (sequence(nn.LayerNorm(5, eps=float("inf"))), None, "1: eps must be finite in float32, got inf"),
    "large epsilon": (sequence(nn.LayerNorm(5, eps=1e300)), None, "1: eps must be finite"),
    "nothing": (nn.Sequential(anygru.GRU(3, 5), None), None, "1 must be a torch.nn.Module, got None"),
    "meta": (anygru.GRU(3, 5, device="meta"), None, "must have values"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_models_that_are_refused(case: str, tmp_path: Path) -> None:
    model, weights, words = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=words):
        anygru.export_c(model, tmp_path / "a.h", weights=weights, check=False)
    assert list(tmp_path.iterdir()) == []


def test_a_residual_is_trained_as_any_module() -> None:
    model = Residual(anygru.GRU(2, 4), nn.Linear(4, 2))
    input = torch.randn(7, 3, 2)
    torch.testing.assert_close(model(input), input + model[1](model[0](input)[0]))
    model(input).sum().backward()
    assert model[0].weight_hh_l0.grad is not None


def test_an_example_serves_a_row_and_a_cell() -> None:
    tool("gcc", "gcc")
    row = nn.Sequential(anygru.GRU(2, 2, batch_first=True), nn.Linear(2, 2))
    for model in (row, anygru.GRUCell(2, 2)):
        verdict = source_of(model, "model", None, True, torch.randn(1, 40, 2)).verdict
        assert verdict is not None
        assert verdict.steps == 40


class Mono(Denoiser):
    """A model of one number for each step, without an axis for it."""

    def __init__(self) -> None:
        super().__init__()
        self.mask = nn.Linear(6, 1)

    def forward(self, input: torch.Tensor) -> list[torch.Tensor]:  # type: ignore[override]
        return [super().forward(input).squeeze(-1)]


def test_a_model_may_leave_out_the_axis_of_one_output() -> None:
    tool("gcc", "gcc")
    assert source_of(Mono(), "mono", None, True).verdict is not None


@pytest.mark.parametrize(("inputs", "hidden"), [(530, 18), (7, 24)])
def test_int8_has_the_same_bits_with_all_instructions(inputs: int, hidden: int) -> None:
    """Each has another way to add products; sums of integers do not depend on it. 530 columns are two sums."""
    source = source_of(anygru.GRU(inputs, hidden), "model", "int8", False).source
    processor = Path("/proc/cpuinfo").read_text()
    options = ["-Os", "-O2", *("-O2 -mavx2" for _ in range("avx2" in processor)), "-O2 -march=native"]
    command = [tool("gcc", "gcc"), "-ffp-contract=off"]
    input = torch.randn(20, inputs)
    plain, *others = (checking.run(source, input, [*command, *each.split()]) for each in options)
    for other in others:
        assert torch.equal(other, plain)
