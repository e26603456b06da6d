"""The state after a reset: at rest after a constant input, in C, in a page and in steps."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from c_programs import tool
from helpers import mostly_slow
from torch import Tensor, nn

import anygru
import anygru.onnx
from anygru.c_export import Residual, ToolMissingError, checking, export_wasm


class Own(nn.Module):
    """A graph: a causal convolution, one GRU of two layers for each of two channels, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.gru, self.head = nn.Conv1d(1, 4, 3), nn.GRU(2, 5, 2, batch_first=True), nn.Linear(10, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(nn.functional.pad(x.transpose(1, 2), (2, 0))).unflatten(1, (2, 2)).movedim(3, 2)
        y = self.gru(y.flatten(0, 1))[0].unflatten(0, (-1, 2)).transpose(1, 2).flatten(2)
        return torch.tanh(self.head(y))


def model(kind: str) -> nn.Module:
    torch.manual_seed(0)
    if kind == "graph":
        return Own().eval()
    if kind == "cell":
        return nn.Sequential(anygru.GRUCell(1, 6), nn.Linear(6, 1)).eval()
    return Residual(anygru.GRU(1, 16, 2), nn.Linear(16, 1)).eval()


GRAPH: dict[str, Any] = {"example": torch.randn(1, 8, 1), "time_axis": 1}
KINDS = ["chain", "cell", pytest.param("graph", marks=pytest.mark.needs_torch(2, 6, because="graphs need it"))]


@pytest.mark.parametrize("value", mostly_slow([0.0, 0.3]))
@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_is_a_rest(kind: str, value: float, tmp_path: Path) -> None:
    command = [tool("gcc", "gcc"), "-O1"]
    constant, options = torch.full((64, 1), value), GRAPH if kind == "graph" else {}
    exported = anygru.export_c(model(kind), tmp_path / "a.h", rest=torch.tensor([value]), **options)
    assert exported.verdict is not None
    steady = checking.run(exported.source, constant, command)
    assert (steady - steady[0]).abs().max() < 2e-6, "no click after a reset"
    plain = anygru.export_c(model(kind), tmp_path / "b.h", check=False, **options)
    moving = checking.run(plain.source, constant, command)
    assert (moving - moving[0]).abs().max() > 1e-3


def test_a_rest_of_int8_weights(tmp_path: Path) -> None:
    tool("gcc", "gcc")
    verdict = anygru.export_c(model("chain"), tmp_path / "a.h", weights="int8", rest=0.0, check=True).verdict
    assert verdict is not None
    assert verdict.difference <= verdict.bound


@pytest.mark.needs_torch(2, 6, because="graphs need it")
def test_a_stepper_starts_at_rest() -> None:
    stepper = anygru.stepper(model("graph"), batch_size=2, rest=0.3, **GRAPH)
    x = torch.full((2, 1), 0.3)
    first = stepper.step(x)
    torch.testing.assert_close(first, model("graph")(torch.full((1, 900, 1), 0.3))[0, -1:].expand(2, 1).detach())
    stepper.step(torch.ones(2, 1))
    torch.testing.assert_close(stepper.step(x, torch.tensor([True, False]))[0], first[0])
    stepper.step(torch.ones(2, 1))
    stepper.reset(1)
    torch.testing.assert_close(stepper.step(x)[1], first[1])


@pytest.mark.parametrize("kind", ["layer", *KINDS[2:]])
def test_sessions_start_at_rest(kind: str) -> None:
    used = anygru.GRU(1, 6, 2) if kind == "layer" else model(kind)
    pool = anygru.SessionPool(used, 3, rest=0.3, **(GRAPH if kind == "graph" else {}))
    long = torch.full((1, 900, 1), 0.3)
    with torch.no_grad():
        steady = used(long[0])[0][-1] if kind == "layer" else used(long)[0, -1]
    x, other = torch.full((1,), 0.3), torch.ones(1)
    first, second = pool.open(), pool.open()
    assert pool.open(first.state_bytes()).steps == 0
    for session in (first, second):
        torch.testing.assert_close(session.step(x), steady)
        session.step(other)
    assert (first.step(x) - steady).abs().max() > 1e-4
    first.reset()
    torch.testing.assert_close(first.step(x), steady)
    first.step(other)
    found = pool.step([second, first], torch.stack((x, x)), torch.tensor([False, True]))
    torch.testing.assert_close(found[1], steady)
    assert (found[0] - steady).abs().max() > 1e-4
    assert (second.steps, first.steps) == (3, 1)
    torch.testing.assert_close(pool.open(first.state_bytes()).step(x), steady)


@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
@pytest.mark.parametrize("kind", ["layer", *KINDS[2:]])
def test_a_step_as_onnx_starts_at_rest(kind: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    torch.manual_seed(1)
    used, rows = (anygru.GRU(1, 6, 2), 3) if kind == "layer" else (model(kind), 1)
    anygru.onnx.export_step(used, tmp_path / "step.onnx", rest=0.3, **(GRAPH if kind == "graph" else {}))
    session = runtime.InferenceSession(tmp_path / "step.onnx")
    steps = torch.cat((torch.full((900, rows, 1), 0.3), torch.randn(8, rows, 1)))
    with torch.no_grad():
        expected = used(steps)[0] if kind == "layer" else used(steps.transpose(0, 1)).transpose(0, 1)
    shape = [rows if isinstance(size, str) else size for size in session.get_inputs()[1].shape]
    state = np.zeros(shape, np.float32)
    for place in range(890, 908):
        output, state = session.run(["output", "new_state"], {"input": steps[place].numpy(), "state": state})
        torch.testing.assert_close(torch.from_numpy(output), expected[place], atol=1e-6, rtol=1e-5)


def test_a_page_and_a_file_have_the_sample_rate(tmp_path: Path) -> None:
    file = anygru.export_c(model("chain"), tmp_path / "a.h", sample_rate=48_000, check=False)
    assert "#define A_SAMPLE_RATE 48000 " in file.source.text
    node = tool("node", "nodejs")
    try:
        pages = export_wasm(model("chain"), tmp_path / "site", name="net", rest=0.0, sample_rate=48_000)
    except ToolMissingError as error:
        pytest.skip(str(error))
    assert pages.verdict is not None
    assert pages.verdict.by == "node", "compared with a model that heard silence before"
    script = 'import {load} from "./net.js"; import {readFileSync} from "fs"; '
    (tmp_path / "site" / "t.mjs").write_text(script + 'console.log((await load(readFileSync("net.wasm"))).sampleRate);')
    (tmp_path / "site" / "package.json").write_text('{"type": "module"}')

    said = subprocess.run([node, "t.mjs"], cwd=tmp_path / "site", capture_output=True, text=True, check=True).stdout
    assert said.strip() == "48000"


def drifting() -> nn.Module:
    gru = anygru.GRU(1, 4)
    with torch.no_grad():
        gru.bias_hh_l0[4:8] = 10.5  # an update gate that keeps almost all
    return nn.Sequential(gru, nn.Linear(4, 1))


WRONG: dict[str, tuple[nn.Module, dict[str, Any], str]] = {
    "drift": (drifting(), {"rest": 0.0}, "rest: the state still changes after 16384 steps"),
    "directions": (anygru.GRU(1, 4, bidirectional=True), {"rest": 0.0}, "rest is for models with single steps"),
    "shape": (anygru.GRU(2, 4), {"rest": torch.zeros(3)}, r"rest must be a finite number or tensor \[2\], got \[3\]"),
    "NaN": (anygru.GRU(2, 4), {"rest": float("nan")}, "rest must be a finite number"),
    "kind": (anygru.GRU(2, 4), {"rest": "silence"}, r"rest must be a number or a tensor \[2\], got str"),
    "rate": (anygru.GRU(2, 4), {"sample_rate": 0}, "sample_rate must be a whole number of Hz above 0, got 0"),
    "fraction": (anygru.GRU(2, 4), {"sample_rate": 44.1}, "sample_rate must be a whole number of Hz above 0, got 44.1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_rest_or_rate_is_refused(case: str, tmp_path: Path) -> None:
    layer, options, words = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=words):
        anygru.export_c(layer, tmp_path / "a.h", check=False, **options)
    assert list(tmp_path.iterdir()) == []
