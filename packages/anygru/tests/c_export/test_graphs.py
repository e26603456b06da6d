"""Models that are not a sequence of modules: their graphs in C and in a page, compared with the model's own forward."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from c_programs import WARNINGS, compiled, tool
from dual_path import denoiser
from helpers import mostly_slow
from torch import Tensor, nn
from torch.nn import functional

import anygru
from anygru.c_export import export_wasm
from anygru.c_export.exporting import Exported, source_of
from anygru.facts import torch_private

if not torch_private.at_least(2, 6):
    pytest.skip("graphs need torch 2.6", allow_module_level=True)


class Around(nn.Module):
    """A GRU along time and any function of its outputs [B, T, 6]; `parts` are the modules of the function."""

    def __init__(self, function: Callable[..., Tensor], *parts: nn.Module, gru: Any = None) -> None:
        super().__init__()
        self.gru = nn.GRU(5, 6, batch_first=True) if gru is None else gru
        self.parts = nn.ModuleList(parts)
        self.function = function

    def forward(self, input: Tensor) -> Tensor:
        return self.function(3 * self.gru(input)[0], *self.parts)


def exported(model: nn.Module, example: Tensor | None = None, axis: int | None = None, **options: Any) -> Exported:
    """The file, compared with the model."""
    tool("gcc", "gcc")
    found = source_of(model.eval(), "model", options.get("weights"), True, example, axis)
    assert found.verdict is not None
    return found


def test_a_dual_path_model_is_the_same_in_c_and_in_steps(tmp_path: Path) -> None:
    model, input = denoiser(), torch.randn(2, 17, 30, 2)
    file = exported(model, input, 2)
    assert file.verdict is not None
    assert file.verdict.difference < 2e-6
    assert (file.source.inputs, file.source.outputs) == (34, 34)
    (tmp_path / "model.h").write_text(file.source.text)
    program = '#include "model.h"\nstatic model_state s; static float x[MODEL_INPUTS], y[MODEL_OUTPUTS];\n'
    program += "int main(void) { model_reset(&s); model_step(&s, x, y); return y[0] > 2; }\n"
    for compiler, level, ending in (
        ("gcc", "-O0", "c"),
        ("gcc", "-O2", "c"),
        ("clang", "-Os", "c"),
        ("g++", "-O0", "cpp"),
    ):
        if shutil.which(compiler):
            compiled(tmp_path, program, compiler, *WARNINGS, level, ending=ending)
    with torch.no_grad():
        expected = model(input)
        stepper = anygru.stepper(model, input, batch_size=2, time_axis=2)
        torch.testing.assert_close(torch.stack([stepper.step(x) for x in input.unbind(2)], 2), expected)
        pool = anygru.SessionPool(model, 3, input, time_axis=2)
        sessions = [pool.open(), pool.open()]
        for step in range(30):
            found = pool.step(sessions, input[:, :, step])
            torch.testing.assert_close(found, expected[:, :, step])


@pytest.mark.slow
def test_a_dual_path_model_is_the_same_in_a_page(tmp_path: Path) -> None:
    for name in ("clang", "wasm-ld", "node"):
        tool(name, name)
    pages = export_wasm(denoiser(), tmp_path, example=torch.randn(1, 17, 30, 2), time_axis=2)
    assert pages.verdict is not None
    assert (pages.verdict.by, pages.verdict.difference < 2e-6) == ("node", True)


def everything(*functions: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """A function that joins the results of some."""
    return lambda x, *parts: torch.cat([each(x, *parts).flatten(2) for each in functions], -1)


def turned(x: Tensor) -> Tensor:
    """[B, 2, T, 3], as convolutions over time and frequency take it."""
    return x.unflatten(-1, (2, 3)).transpose(1, 2)


ACTIVATIONS = everything(
    *(
        getattr(functional, name)
        for name in (
            "relu",
            "leaky_relu",
            "elu",
            "gelu",
            "silu",
            "softplus",
            "hardswish",
            "hardsigmoid",
            "hardtanh",
            "relu6",
        )
    ),
    functional.softsign,
    functional.mish,
    functional.selu,
    torch.sigmoid,
    torch.tanh,
    torch.abs,
    torch.neg,
    lambda x: functional.gelu(x, approximate="tanh"),
    lambda x: functional.leaky_relu(x, 0.3),
    lambda x: functional.softmax(x, -1),
    lambda x: functional.glu(x, -1),
    lambda x: functional.softmax(x.unflatten(-1, (2, 3)), 2),
    lambda x: x.clamp(-0.5, 0.7),
    lambda x: (
        x.clamp(min=0.1).sqrt() + x.clamp(min=0.1).log() + x.exp() + (x + 9).rsqrt() + torch.pow(x.abs() + 1, 1.5)
    ),
    lambda x: torch.where(x > 0, x, 2 * x).masked_fill(x < -0.5, -1.0),
    lambda x: torch.maximum(x, 0.1 * x.square()),
)
ARITHMETIC = everything(
    lambda x: x[..., 1:4] * x[..., ::2] - x[..., [0]] / (2 + x[..., 3:] ** 2),
    lambda x: 1 - torch.add(x, x * x, alpha=0.5),
    lambda x: x.mean(-1, keepdim=True) + x.sum(-1, keepdim=True) + x.amax(-1, keepdim=True) + x.amin(-1, keepdim=True),
    lambda x: torch.stack(x.chunk(3, -1), -1).flatten(2),
    lambda x: x.unflatten(-1, (2, 3)).transpose(2, 3).reshape(x.shape),
    lambda x: functional.pad(x, (1, 2), value=0.25),
    lambda x: x * torch.arange(6.0) + torch.ones(6) * torch.tensor(0.5),
    lambda x: x.flip(-1) * x[..., [3, 3, 0]].sum(-1, keepdim=True),
    lambda x: x.unsqueeze(-1).expand(-1, -1, -1, 2),
)
DTYPES = everything(
    lambda x: x.to(torch.bool).float() + x * x.long().bool() + x.double(),
    lambda x: ((x > 0) + (x > 0.2)).float() + (x > 0).sum(-1, keepdim=True),
    lambda x: x.sum(-1, keepdim=True, dtype=torch.long) + (x > 1).sum(-1, keepdim=True, dtype=torch.bool),
    lambda x: x.sum(-1, keepdim=True, dtype=torch.double) + functional.softmax(x, -1, dtype=torch.double),
)
BLOCKS: dict[str, tuple[Callable[..., Tensor], list[nn.Module]]] = {
    "activations": (ACTIVATIONS, []),
    "arithmetic": (ARITHMETIC, []),
    "dtypes": (DTYPES, []),
    "in place": (lambda x, act: act(x.add_(1)) + x, [nn.ReLU(inplace=True)]),
    "linear without bias": (
        lambda x, one, two: two(one(x).unflatten(-1, (2, 4))),
        [nn.Linear(6, 8, bias=False), nn.Linear(4, 2)],
    ),
    "prelu": (lambda x, one, two: one(x.transpose(1, 2)).transpose(1, 2) + two(x), [nn.PReLU(6), nn.PReLU()]),
    "norms": (
        lambda x, one, two, three: three(two(one(x).transpose(1, 2)).transpose(1, 2).unflatten(-1, (3, 2))),
        [nn.LayerNorm(6), nn.BatchNorm1d(6), nn.LayerNorm((3, 2), elementwise_affine=False)],
    ),
    "group norm": (lambda x, one: one(x.flatten(0, 1)).view(x.shape), [nn.GroupNorm(2, 6)]),
    "group norm of lanes": (
        lambda x, one: one(x.unflatten(-1, (3, 2)).flatten(0, 2).unsqueeze(-1) ** torch.arange(1, 4)).view(
            *x.shape[:2], 18
        ),
        [nn.GroupNorm(2, 2)],
    ),
    "causal conv1d": (
        lambda x, one: one(functional.pad(x.transpose(1, 2), (4, 0))).transpose(1, 2),
        [nn.Conv1d(6, 4, 3, dilation=2, groups=2)],
    ),
    "conv1d cut": (lambda x, one: one(x.transpose(1, 2))[..., :-2].transpose(1, 2), [nn.Conv1d(6, 4, 3, padding=2)]),
    "conv1d inside": (
        lambda x, one: one(x.flatten(0, 1)[:, None]).reshape(*x.shape[:2], -1),
        [nn.Conv1d(1, 3, 2, stride=2)],
    ),
    "conv1d same": (
        lambda x, one: one(x.flatten(0, 1)[:, None]).reshape(*x.shape[:2], -1),
        [nn.Conv1d(1, 2, 3, padding="same")],
    ),
    "transposed conv1d": (
        lambda x, one: one(x.transpose(1, 2))[..., :-3].transpose(1, 2),
        [nn.ConvTranspose1d(6, 4, 4, groups=2)],
    ),
    "causal conv2d": (
        lambda x, one: one(functional.pad(turned(x), (1, 1, 2, 0))).transpose(1, 2),
        [nn.Conv2d(2, 4, (3, 2), stride=(1, 2), groups=2)],
    ),
    "transposed conv2d": (
        lambda x, one: one(turned(x))[:, :, : x.shape[1]].transpose(1, 2),
        [nn.ConvTranspose2d(2, 3, (2, 3), stride=(1, 2), padding=(0, 1), output_padding=(0, 1))],
    ),
    "two convolutions": (
        lambda x, one, two: two(functional.pad(one(functional.pad(x.transpose(1, 2), (2, 0))), (1, 0))).transpose(1, 2),
        [nn.Conv1d(6, 8, 3), nn.Conv1d(8, 40, 2)],
    ),
    "inner GRU": (
        lambda x, one: one(x.reshape(-1, 6, 1).transpose(0, 1))[0].transpose(0, 1).reshape(*x.shape[:2], -1),
        [nn.GRU(1, 34, num_layers=2, bidirectional=True)],
    ),
    "embedding": (lambda x, one: one((x.abs() * 4).long().clamp(max=8)).flatten(2), [nn.Embedding(9, 3)]),
}


def written_in_place(x: Tensor) -> Tensor:
    y = x.clone()
    y[..., 1:5:2] = 2 * y[..., 3:5]
    y[..., 0] += 1
    return y


BLOCKS |= {
    "written in place": (written_in_place, []),
    "products with weights": (
        everything(
            lambda x, one: x @ one.weight,
            lambda x, one: (one.weight @ x.unsqueeze(-1)).squeeze(-1),
            lambda x, one: torch.einsum("btf,fg->btg", x, one.weight),
        ),
        [nn.Linear(6, 6)],
    ),
    "taken apart": (
        everything(lambda x, one: one(x), lambda x, one: functional.interpolate(x, scale_factor=2)),
        [nn.RMSNorm(6)],
    ),
    "truth": (
        everything(
            lambda x: torch.where((x > 0) & ~(x > 1) | (x != x.round()), x.sign(), x.trunc() + x.ceil()),
            lambda x: torch.logical_or(x > 1, x < -1).float() + x.atan() + x.tan().clamp(-1, 1),
        ),
        [],
    ),
}


@pytest.mark.parametrize("name", list(BLOCKS))
def test_operators_are_the_models_own(name: str) -> None:
    function, parts = BLOCKS[name]
    torch.manual_seed(1)
    for part in parts:
        if isinstance(part, nn.BatchNorm1d):
            nn.init.uniform_(part.running_mean, -1, 1)
            nn.init.uniform_(part.running_var, 0.5, 2)
    exported(Around(function, *parts))


@pytest.mark.parametrize(
    ("gru", "weights"),
    mostly_slow(
        [
            (lambda: anygru.GRU(5, 6, reset="before", batch_first=True), None),
            (lambda: anygru.GRU(5, 6, 2, norm="layer", batch_first=True), None),
            (lambda: anygru.GRU(5, 40, batch_first=True).freeze("bfloat16"), None),
            (lambda: nn.GRU(5, 40, 2, batch_first=True), "int8"),
        ]
    ),
)
def test_grus_of_any_kind_in_a_graph(gru: Callable[[], nn.Module], weights: str | None) -> None:
    exported(Around(lambda x: x * torch.sigmoid(x), gru=gru()), weights=weights)


class Counting(nn.Module):
    """Changes a buffer in every step."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, input: Tensor) -> Tensor:
        self.seen.add_(1)
        return input


class Last(nn.Module):
    """The state after a step is used in addition to the outputs; the first axis is time."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.gru = nn.Embedding(7, 5), nn.GRU(5, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.gru(self.table(tokens))[0] * 2


def test_numbers_of_rows_of_a_table_are_the_input() -> None:
    file = exported(Last(), torch.randint(7, (12, 1)))
    assert file.source.inputs == 1


def wrong(x: Tensor, *parts: nn.Module) -> Tensor:
    return torch.cumsum(x, -1)


torch.manual_seed(0)  # a step and a sequence may round to different float16 numbers: these weights do not
REFUSED: dict[str, tuple[nn.Module, str]] = {
    "operator": (Around(wrong), r"model itself \(Around\): aten.cumsum.default: a file in C has no such operator"),
    "option of a row": (
        Around(lambda x: torch.div(x, 0.3, rounding_mode="floor")),
        r"itself \(Around\): aten.div.Tensor_mode: .* 2 arguments and no options, got rounding_mode='floor'",
    ),
    "float16": (Around(lambda x: (x.half() * 3).float()), "aten._to_copy.default: .* float32, got torch.float16"),
    "bfloat16": (Around(lambda x: x.sum(-1, True, dtype=torch.bfloat16)), "float32, got torch.bfloat16"),
    "complex": (Around(lambda x: x.to(torch.complex64).abs()), "float32, got torch.complex64"),
    "bits": (Around(lambda x: x.view(torch.int32).float()), "bits of a number cannot be read as torch.int32"),
    "changed buffer": (
        Around(lambda x, one: one(x), Counting()),
        "change no buffer and no weight, and it changes parts.0.seen",
    ),
    "of a module": (Around(lambda x, one: one(x, x), nn.Bilinear(6, 6, 2)), r"parts.0 \(Bilinear\): aten"),
    "both directions": (
        Around(lambda x, one: one(x)[0], nn.GRU(6, 3, bidirectional=True, batch_first=True)),
        "parts.0: a bidirectional GRU reads the future",
    ),
    "future": (
        Around(lambda x, one: one(x.transpose(1, 2)).transpose(1, 2), nn.Conv1d(6, 4, 3, padding=1)),
        "parts.0 .Conv1d. gives another output",
    ),
    "weights": (
        Around(lambda x, one: functional.linear(x, one.weight * x.mean()), nn.Linear(6, 4)),
        "cannot be stepped",
    ),
    "computed weights": (
        Around(
            lambda x, one: functional.linear(x[:, :1], x[0, 0].expand(4, 6)).expand(-1, x.shape[1], -1), nn.Identity()
        ),
        "cannot be stepped|weights are computed",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_graph_cannot_have_is_refused_with_its_module(case: str, tmp_path: Path) -> None:
    model, words = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=words):
        anygru.export_c(model.eval(), tmp_path / "a.h", check=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_no_compiler_checked_comes_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    model = Around(torch.tanh).eval()
    with pytest.warns(UserWarning, match="a.h was not compared with the model.*set the environment variable CC"):
        anygru.export_c(model, tmp_path / "a.h")
    anygru.export_c(model, tmp_path / "a.h", check=False)  # without a warning


class Tokens(nn.Module):
    """Indices [B, T, 1] give numbers; other last bits of an index are another row of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.gru = nn.Embedding(7, 5), nn.GRU(5, 6, batch_first=True)

    def forward(self, input: Tensor) -> Tensor:
        output = self.gru(self.table(input[..., 0]))[0]
        return output * output


OTHER: dict[str, tuple[nn.Module, Tensor | None]] = {
    "numbers": (Around(lambda x: x * x), None),
    "indices": (Tokens(), torch.randint(7, (1, 12, 1))),
}


@pytest.mark.parametrize("case", OTHER)
def test_a_file_that_computes_other_numbers_is_not_written(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anygru.c_export import expressions

    tool("gcc", "gcc")
    model, example = OTHER[case]
    monkeypatch.setitem(expressions.EXPRESSIONS, "mul", "{1} * {2} * 1.001f")
    with pytest.raises(anygru.c_export.CheckError, match="computes other numbers than the model"):
        anygru.export_c(model.eval(), tmp_path / "a.h", example=example)
    assert list(tmp_path.iterdir()) == []
