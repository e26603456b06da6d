"""`benchmarks/bench.py` and the processes that it measures: results, files, and refused options."""

import itertools
import json
import re
import runpy
import sys
from dataclasses import asdict
from pathlib import Path

import bench
import pytest
import torch
from side_by_side.measure import GPU_WORKER, HALF_MODULES, WORKER, Cell, Runner, Timing, compare
from side_by_side.report import Row, print_rows, read_json

pytestmark = pytest.mark.usefixtures("warm_python")


def test_it_compares_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times, picture = tmp_path / "times.json", tmp_path / "times.png"
    sizes = ["--hidden", "9", "--batch", "2", "--steps", "5", "--layers", "2"]
    options = [*sizes, "--bidirectional", "--train", "--rounds", "1", "--seconds", "0.01"]
    bench.main([*options, "--json", str(times), "--plot", str(picture)])
    shown = capsys.readouterr().out
    assert "T=5 B=2 I=9 H=9 L=2 bidirectional" in shown
    (row,) = read_json(times)
    assert row.cell == Cell(5, 2, 9, 9, 2, True, True)
    assert {"anygru", "torch"} <= set(row.timed)
    assert row.limit is not None
    facts = json.loads(times.read_text())["machine"]
    assert facts["instruction set"]
    assert re.fullmatch("[0-9a-f]{7,}(-dirty)?|unknown", facts["commit"])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_table_fits_40_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    names = ("anygru", "onnxruntime", "openvino_default")
    timings = {name: Timing("1.2.3", [0.12345 * place]) for place, name in enumerate(names, 1)}
    print_rows([Row(Cell(100, 32, 64, 64), timings | {"torch": Timing(error="no [bold] \x1b[31m")}, {})])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert "onnxruntime 246.900 0 % " in out
    assert "openvino_de" in out
    assert "\nfault" in out
    assert "torch: no [bold] \\x1b[31m" in out
    assert "…" not in out


def test_a_title_stays_whole_above_a_narrow_table(capsys: pytest.CaptureFixture[str]) -> None:
    cell = Cell(5, 2, 9, 9, 2, True, True)
    print_rows([Row(cell, {"torch": Timing("2", [1e-3])}, {})])
    assert "T=5 B=2 I=9 H=9 L=2 bidirectional, forward and backward\n" in capsys.readouterr().out


def test_nothing_is_faster_than_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    cell = Cell(5, 2, 9, 9, 2, True, True)
    limits = {"gflops": 1e-3, "gbytes": 1e-3}
    row = Row(cell, {"anygru": Timing("1", [1e-4]), "torch": Timing("2", [1e-3])}, limits)
    assert row.estimate > 1e-4 == row.limit
    print_rows([row])
    shown = " ".join(capsys.readouterr().out.split())
    assert "anygru reaches 100 % of it" in shown
    assert "the fastest call" in shown
    slow = Row(cell, {"anygru": Timing("1", [10.0])}, limits)
    assert slow.limit == slow.estimate < 10.0


def test_the_ragged_batch_runs() -> None:
    cell = Cell(6, 3, 4, 5, train=True, lengths=(6, 2, 1))
    results, _ = compare(cell, {"anygru": sys.executable, "torch": sys.executable}, 1, rounds=1, seconds=0.01)
    assert all(timing.error is None and timing.times for timing in results.values()), results


def test_frozen_layers_run_beside_peers_that_round() -> None:
    peers = dict.fromkeys(("anygru", "torch", "torch_int8"), sys.executable)
    results, _ = compare(Cell(3, 2, 16, 16, frozen="int8"), peers, 1, rounds=1, seconds=0.01)
    assert all(timing.error is None and timing.times for timing in results.values()), results
    assert Row(Cell(3, 2, 16, 16, frozen="int8"), results, {"gflops": 1.0, "gbytes": 1.0}).limit is None


@pytest.mark.parametrize("train", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_modules_in_half_precision_run_beside_torchs(train: bool) -> None:
    names = ("anygru", *(f"{package}_{name}" for package in ("anygru", "torch") for name in HALF_MODULES))
    frozen = () if train else ("anygru_frozen_bfloat16", "anygru_int8")
    peers = dict.fromkeys((*names, *frozen), sys.executable)
    results, _ = compare(Cell(3, 2, 16, 16, train=train), peers, 1, rounds=1, seconds=0.01)
    assert all(timing.error is None and timing.times for timing in results.values()), results


def test_what_does_not_train_says_so() -> None:
    peers = dict.fromkeys(("torch", "anygru_int8", "torch_int8"), sys.executable)
    results, _ = compare(Cell(3, 2, 4, 5, train=True), peers, 1, rounds=1, seconds=0.01)
    assert [results[name].error for name in ("anygru_int8", "torch_int8")] == [
        "NotImplementedError: a frozen layer does not train",
        "NotImplementedError: torch_int8 does not train",
    ]


def test_another_output_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Runner.ask

    def wrong(self: Runner, request: dict) -> dict:
        answer = ask(self, request)
        if self.name == "torch" and "output" in answer:
            answer["output"][3] += 0.01
        return answer

    monkeypatch.setattr(Runner, "ask", wrong)
    results, _ = compare(Cell(3, 1, 4, 5), {"anygru": sys.executable, "torch": sys.executable}, 1, 1, 0.01)
    assert results["torch"].error == "its output differs"
    assert not results["torch"].times


def test_a_machine_on_which_a_call_takes_longer_than_the_time_for_all_has_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = itertools.count()
    worker = runpy.run_path(str(WORKER))
    monkeypatch.setattr(worker["time"], "perf_counter", lambda: float(next(seconds)))
    limits = worker["limit"](4096, 1)
    assert limits["gflops"] == pytest.approx(2 * 1024**3 / 1e9)
    assert limits["gbytes"] > 0


def test_the_ratio_is_to_the_fastest_peer() -> None:
    timings = {"anygru": Timing(times=[2.0]), "torch": Timing(times=[9.0]), "openvino": Timing(times=[5.0])}
    timings["onnxruntime"] = Timing(error="not here")
    assert Row(Cell(1, 1, 1, 1), timings, {}).ratio == 2.5


def test_flops_count_every_product() -> None:
    assert Cell(2, 3, 4, 5).flops == 2 * 2 * 3 * 15 * (4 + 5)
    assert Cell(2, 3, 4, 5, 2, True, True).flops == 3 * 2 * 6 * 2 * (15 * 9 + 15 * 15)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_the_runners_for_gpus_compute_the_same(reset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, where they can be called as well; only the events that time them need a GPU."""
    monkeypatch.syspath_prepend(str(GPU_WORKER.parent))
    runners = runpy.run_path(str(GPU_WORKER))["RUNNERS"]
    monkeypatch.setattr(torch.backends.cudnn, "enabled", True)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    cell = asdict(Cell(3, 2, 4, 5, 2, True, True, reset=reset))
    expected = runners["reference"](cell)[0]()
    torch.testing.assert_close(runners["anygru"](cell)[0](), expected)
    if reset == "after":
        torch.testing.assert_close(runners["torch"](cell)[0](), expected)
    else:
        with pytest.raises(NotImplementedError, match="only reset='after'"):
            runners["torch"](cell)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--device", "cuda"])
    assert "--device cuda needs a GPU, and torch sees none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--hidden", "0"], "--hidden must be at least 1"),
        (["--threads", "0"], "--threads must be at least 1"),
        (["--peer", "paddle"], "--peer must be NAME=PYTHON"),
        (["--peer", "caffe=/bin/sh"], "--peer must be NAME=PYTHON"),
        (["--peer", "paddle=/no/such/python"], "existing interpreter"),
        (["--dtype", "bfloat16"], "--dtype goes with --device cuda"),
        (["--device", "cuda", "--weights", "int8"], "--weights goes with --device cpu"),
        (["--threads", "100000"], "--threads must be at most"),
        (["--seconds", "nan"], "--seconds must be more than 0 and finite, got nan"),
        (["--json", "/no/such/folder/x.json"], "--json must be a regular file in a folder that exists"),
        (["--json", "/dev/null"], "--json must be a regular file in a folder that exists"),
        (["--plot", "x.txt"], "--plot must end in .png or .svg, got 'x.txt'"),
    ],
)
def test_options_are_checked_before_anything_is_measured(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "run", None)
    with pytest.raises(SystemExit, match="2"):
        bench.main(arguments)
    assert words in capsys.readouterr().err
