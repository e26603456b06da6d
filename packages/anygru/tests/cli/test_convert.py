"""`anygru convert` as a user runs it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.cli import convert as command
from anygru.cli import main

DATA = Path(__file__).parent.parent / "checkpoints" / "data"


def convert(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["convert", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "m.pdparams", "--layer-names"], "--layer-names has no meaning for an optimizer's state"),
        (["--model", "m.pdparams", "--to", "torch"], "--to has no meaning"),
        (["--lr", "0.1"], "--betas and --lr belong to an optimizer's state"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, error = convert(capsys, DATA / "paddle/model.pdopt", tmp_path / "x.pt", *options)
    assert status == 2
    assert words in error


def test_verbose_tells_which_rows_went_where(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = convert(capsys, DATA / "mxnet/model.params", tmp_path / "x.npz", "--verbose")
    assert "layer 0: input reset: 1._unfused.0.l_cell.i2h_weight, rows 0 to 3 -> 1/0/w0\n" in out
    assert "layer 1, backward: state candidate: 1._unfused.1.r_cell.h2h_weight, rows 8 to 11 -> 1/3/w5\n" in out


def test_says_what_it_did(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, error = convert(capsys, DATA / "mxnet/model.params", tmp_path / "x.npz")
    assert (status, error) == (0, "")
    for line in [
        "mxnet -> chainer",
        "GRU 1: mxnet.gluon.rnn.GRU(3, 4), 2 layers, bidirectional",
        "became chainer.links.NStepGRU 1",
        "verified: source and result, run on the same random input by the frameworks' documentation, give the same bits",
        "3 other tensors kept unchanged:",
        "  0.weight",
    ]:
        assert line in out
    assert "1/0/w0" in load_checkpoint(tmp_path / "x.npz").stored


def test_values_left_out_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = convert(capsys, DATA / "oneflow/model", tmp_path / "x.safetensors", "--all")
    assert "LEFT OUT, safetensors has no room for it" in out
    assert "epoch: safetensors holds tensors only" in out


def test_long_lists_are_cut_unless_all_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_checkpoint({f"t{number}": torch.ones(1) for number in range(40)}, tmp_path / "x.pt")
    _, out, _ = convert(capsys, tmp_path / "x.pt", tmp_path / "y.npz")
    assert "... and 28 more" in out
    _, out, _ = convert(capsys, tmp_path / "x.pt", tmp_path / "y.npz", "--all")
    assert "  t39" in out


def test_mapping_file_renames(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text(json.dumps({"gru": "rnn", "head.weight": "out/W"}))
    status, out, _ = convert(
        capsys, DATA / "paddle/model.pdparams", tmp_path / "x.npz", "--map", tmp_path / "names.json"
    )
    assert status == 0
    assert "head.weight -> out/W" in out
    assert {"rnn/0/w0", "out/W"} <= set(load_checkpoint(tmp_path / "x.npz").stored)


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', '{"": "b"}', "[" * 100_000])
def test_bad_mapping_files_are_refused(content: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text(content)
    status, _, error = convert(
        capsys, DATA / "paddle/cell.pdparams", tmp_path / "x.pt", "--map", tmp_path / "names.json"
    )
    assert status == 2
    assert "names.json" in error
    assert not (tmp_path / "x.pt").exists()


def test_refusals_say_why_and_leave_the_old_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.params").write_bytes(b"old")
    status, out, error = convert(capsys, DATA / "chainer/model.npz", tmp_path / "x.params")
    assert (status, out) == (2, "")
    assert "mxnet has no GRU cell with the reset before the product" in error
    assert error.count("\n") == 1
    assert (tmp_path / "x.params").read_bytes() == b"old"


def test_approximations_need_the_flag(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_checkpoint({"a": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "x.safetensors")
    status, _, error = convert(capsys, tmp_path / "x.safetensors", tmp_path / "x.npz")
    assert status == 2
    assert "bfloat16" in error
    status, out, _ = convert(capsys, tmp_path / "x.safetensors", tmp_path / "x.npz", "--approximate")
    assert status == 0
    assert "a: bfloat16 became float32" in out


def test_formats_directions_and_styles_can_be_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = convert(
        capsys, DATA / "chainer/square.npz", tmp_path / "x", "--to", "mxnet", "--from", "chainer", "--bidirectional", ""
    )
    assert status == 0
    assert "bidirectional" in out
    assert load_checkpoint(tmp_path / "x").gru_layers[0].bidirectional
    style = "mxnet.gluon.rnn.GRU (parameters' names)"
    assert convert(capsys, DATA / "mxnet/model.params", tmp_path / "y.params", "--style", style)[0] == 0
    assert "1_l0_i2h_weight" in load_checkpoint(tmp_path / "y.params").stored


def test_progress_is_shown_on_long_work_to_somebody_who_looks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = torch.nn.Module()
    net.gru = anygru.GRU(20, 30)
    save_checkpoint(net, tmp_path / "x.pt")
    monkeypatch.setattr(command, "_LONG_WORK", 100)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    status, _, error = convert(capsys, tmp_path / "x.pt", tmp_path / "y.npz")
    assert status == 0
    assert "writing" in error


STAYS = """
import os, sys, time
from anygru.cli import main
def fsync(descriptor):
    print("written", flush=True)
    time.sleep(600)
os.fsync = fsync
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    """When the file is written and does not yet have its name."""
    torch.save({"w": torch.randn(100, 100)}, tmp_path / "x.pt")
    command = [sys.executable, "-c", STAYS, "convert", str(tmp_path / "x.pt"), str(tmp_path / "y.npz")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "written\n" in iter(process.stdout.readline, "")
        assert list(tmp_path.glob(".anygru-*/.*.tmp"))
        process.send_signal(number)
        process.communicate(timeout=600)
    assert process.returncode == 128 + number
    assert os.listdir(tmp_path) == ["x.pt"]
