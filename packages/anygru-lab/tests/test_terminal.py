"""The output on a terminal: narrow terminals, hostile names, pipes instead of files, and answers before torch is imported."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from anygru.checkpoints import save_checkpoint
from anygru.cli import commands, main
from anygru.cli.spinning import SET_BY_USER
from anygru.cli.terminal import count

DATA = Path(__file__).resolve().parents[2] / "anygru/tests/checkpoints/data"
HOSTILE = "a\x1b[31m\n\u202eb"
ESCAPED = "a\\x1b[31m\\n\\u202eb"


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")


@pytest.mark.parametrize("name", ["", *commands()])
def test_help_fits_40_columns(name, narrow, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"] if name else ["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[0].startswith(f"usage: anygru {name}".rstrip())


def test_a_tree_is_wrapped_and_not_cut(narrow, anygru, tmp_path):
    file = tmp_path / "x.safetensors"
    save_checkpoint({"layer." + "long" * 15: torch.ones(3, 2)}, file)
    out = anygru("inspect", file).out
    assert max(map(len, out.splitlines())) <= 40
    assert "long" * 15 in "".join(line.strip("│├└─ ") for line in out.splitlines())
    assert "[3 x 2]  float32  24 B" in " ".join(out.replace("│", " ").split()).replace("] float32 ", "]  float32  ")


def test_a_pipe_has_no_width(anygru, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    file = tmp_path / "x.safetensors"
    save_checkpoint({"layer." + "long" * 50: torch.ones(3, 2)}, file)
    assert "long" * 50 + "  [3 x 2]  float32  24 B\n" in anygru("inspect", file).out


def test_numbers_have_their_nouns(anygru, tmp_path):
    assert [count(number, "document") for number in (0, 1, 2, 1000)] == [
        "0 documents",
        "1 document",
        "2 documents",
        "1,000 documents",
    ]
    file = tmp_path / "x.safetensors"
    save_checkpoint({"a": torch.ones(1)}, file)
    assert "\n1 tensor, 1 number, 4 B\n" in anygru("inspect", file).out
    assert "\n1 other tensor kept unchanged" in anygru("convert", file, tmp_path / "x.npz").out


def test_names_in_errors_cannot_steer_the_terminal(anygru, tmp_path):
    file = tmp_path / HOSTILE
    for command in ("inspect", "sample", "train"):
        result = anygru(command, file)
        assert result.status == 2
        assert ESCAPED in result.error
        assert result.error.count("\n") == 1
        assert result.error.rstrip("\n").isprintable()
    save_checkpoint({HOSTILE: torch.ones(2)}, tmp_path / "x.safetensors")
    result = anygru("convert", tmp_path / "x.safetensors", tmp_path / "x.npz", "--transpose", HOSTILE)
    assert result.status == 2
    assert ESCAPED in result.error


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are FIFOs on Unix only")
@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "FIFO"],
        ["convert", "FIFO", "x.npz"],
        ["convert", DATA / "chainer/model.npz", "x.npz", "--map", "FIFO"],
        ["convert", DATA / "chainer/model.npz", "x.h5", "--like", "FIFO"],
        ["sample", "FIFO"],
        ["train", "FIFO"],
        ["train", "--val-file", "FIFO"],
        ["train", "--init-from", "FIFO"],
        ["train", "--evaluate", "FIFO"],
    ],
    ids=lambda arguments: " ".join(word for word in map(str, arguments) if "/" not in word),
)
def test_a_fifo_is_refused(arguments, fifo, anygru, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = anygru(*(fifo if word == "FIFO" else word for word in arguments))
    assert result.status == 2
    assert "fifo: cannot be read: it is not a regular file" in result.error


@pytest.fixture
def piped(monkeypatch):
    def set_input(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return set_input


def test_standard_input_is_a_file_too(anygru, piped, tmp_path, finished):
    content = (DATA / "mxnet/plain.params").read_bytes()
    piped(content)
    expected = anygru("inspect", DATA / "mxnet/plain.params").out.splitlines()[1:]
    assert anygru("inspect", "-").out.splitlines()[1:] == expected
    piped(content)
    assert anygru("convert", "-", tmp_path / "x.npz").status == 0
    assert "chainer.links.NStepGRU" in anygru("inspect", tmp_path / "x.npz").out
    piped(b"")
    assert ": error: standard input: " in anygru("inspect", "-").error
    piped(b"ten green ")
    assert anygru("sample", finished, "--prompt", "-", "--length", 3).out.startswith("ten green ")


def test_torch_is_not_imported_for_help_or_a_missing_file():
    """Torch takes seconds; an answer that does not need it must not wait for it."""
    program = """
import contextlib, io, sys
from anygru.cli import main
for line in sys.stdin.read().splitlines():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as error:
        try:
            status = main(line.split())
        except SystemExit as end:
            status = end.code
    print(line, status, "torch" in sys.modules, "no file" in error.getvalue() or "No such file" in error.getvalue())
"""
    asking = ["--help", "-V", "help sample", "train --help", "inspect --help", "convert --help"]
    missing = ["inspect NO", "convert NO x.npz", "sample NO", "train NO", "train --val-file NO"]
    missing += ["train --init-from NO", "train --evaluate NO"]
    result = subprocess.run(
        [sys.executable, "-c", program], input="\n".join(asking + missing), capture_output=True, text=True, check=True
    )
    expected = [f"{line} 0 False False" for line in asking]
    expected += [f"{line} 2 False {line.endswith('NO') or 'NO ' in line}" for line in missing]
    assert result.stdout.splitlines() == expected


def test_a_curve_falls_from_the_first_line_to_the_last():
    from anygru_lab.language_model import curve

    losses = [8.0 * 0.98**step for step in range(100)]
    lines = curve.drawn(losses, 200, 47, 4)
    assert [line[:7] for line in lines] == ["  7.84┤", "      ┤", "      ┤", "  1.09┤"]
    filled = [[place for place, each in enumerate(line[7:]) if each != chr(0x2800)] for line in lines]
    assert filled[0][0] == 0
    assert max(filled[-1]) in (19, 20)  # half of the run fills half of the 40 columns
    assert all(max(upper) <= min(lower) + 1 for upper, lower in zip(filled, filled[1:], strict=False))
    assert curve.drawn(losses[:5], 200, 47) == []
    assert curve.drawn(losses, 200, 12) == []
    assert curve.drawn([2.0] * 50, 50, 30, 3)


def test_the_bar_shows_the_curve_above_it(monkeypatch):
    import io as streams

    from rich.console import Console

    from anygru_lab.language_model.progress import _Bar

    bar = _Bar(console=Console(file=streams.StringIO(), width=60, height=30, force_terminal=True))
    bar.losses, bar.steps = [8.0 * 0.98**step for step in range(100)], 100
    shown = list(bar.get_renderables())
    assert str(shown[0]).count("\n") == 7
    assert len(shown) == 2


def test_train_bounds_busy_waiting_before_torch_is_imported():
    program = """
import os, sys, anygru.cli, anygru_lab.train
def check(args):
    print(os.environ.get("GOMP_SPINCOUNT"), "torch" in sys.modules)
    sys.exit()
anygru_lab.train._check_arguments = check
anygru.cli.main(["train"])
"""
    environment = {name: value for name, value in os.environ.items() if name not in SET_BY_USER}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout == "10000 False\n"
