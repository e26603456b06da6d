"""The paths that commands write: some are refused before any work, and then no file changes."""

import io
import os
import sys

import pytest
import torch

from anygru.cli.terminal import console

WRITERS = {
    "TO": ["convert", "model.pt", "--to", "safetensors"],
    "--out": ["export-c", "model.pt", "--no-check"],
    "--wasm": ["export-c", "model.pt", "--no-check"],
    "inspect --plot": ["inspect", "model.pt"],
    "try --plot": ["try", "model.py:build"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(torch.nn.GRU(2, 3).state_dict(), "model.pt")
    (tmp_path / "model.py").write_text("raise SystemExit('it was run')")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("kept")
    (tmp_path / "link.png").symlink_to("absent/x.png")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} | {
        "names": sorted(os.listdir(folder))
    }


@pytest.mark.parametrize("argument", WRITERS)
@pytest.mark.parametrize(
    "path",
    [
        "",
        "-",
        "model.pt",
        "model.py",
        "full",
        "full/",
        "new/",
        "absent/x.png",
        "link.png",
        "loop",
        "/dev/full",
        "a" * 300,
    ],
)
def test_a_path_that_cannot_be_written(anygru, folder, argument, path):
    """The status is 2, the error names the argument or the path, and no file appears or changes."""
    if "--plot" in argument:
        pytest.importorskip("matplotlib")
    fits = {"TO": ["model.py"], "--out": ["model.py"], "--wasm": ["full", "full/", "new/", "absent/x.png"]}
    if path in fits.get(argument, ()):
        pytest.skip("it can be written")
    command, name = WRITERS[argument], argument.split()[-1]
    if argument == "try --plot" and path == "model.pt":
        command = ["try", "model.pt"]
    before = contents(folder)
    result = anygru(*command, *([] if name == "TO" else [name]), path)
    assert (result.status, result.out, result.error.count("\n")) == (2, "", 1)
    assert name in result.error or (path and path in result.error)
    assert contents(folder) == before


def test_no_file_is_both_read_and_written(anygru, folder):
    """Each input of a command, and the other output."""
    build = folder / "model.py"
    for line in (
        ["convert", "model.pt", "names.json", "--to", "torch", "--map", "./names.json"],
        ["convert", "model.pt", build, "--script", "model.py:build"],
        ["export-c", "model.pt", "--out", "gru", "--wasm", "gru"],
    ):
        result = anygru(*line)
        assert result.status == 2
        assert "another argument names this file" in result.error
    assert build.read_text() == "raise SystemExit('it was run')"


def test_a_file_named_like_standard_output(anygru, folder):
    assert anygru("convert", "model.pt", "./-", "--to", "safetensors").status == 0
    assert (folder / "-").is_file()


def test_a_picture_has_the_format_of_its_ending(anygru, folder):
    pytest.importorskip("matplotlib")
    assert anygru("inspect", "model.pt", "--plot", "x.SVG").status == 0
    assert b"<svg" in (folder / "x.SVG").read_bytes()
    assert "did you mean png?" in anygru("try", "model.py:build", "--plot", "x.pgn").error


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_a_wrong_argument(anygru, folder):
    (folder / "full").chmod(0o500)
    assert anygru("convert", "model.pt", "full/x.pt", "--to", "safetensors").status == 2


@pytest.mark.parametrize("columns", ["0", "1", "5", "-3", "x"])
def test_a_narrow_terminal(anygru, folder, monkeypatch, capfd, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert anygru("inspect", "model.pt").status == 0
    with pytest.raises(SystemExit, match="^0$"):
        anygru("convert", "--help")
    assert "--layer-names" in "".join(capfd.readouterr().out.split())


@pytest.mark.parametrize("target", ["full", "model.pt", "bad.py"])
def test_a_script_that_is_not_python(anygru, folder, target):
    (folder / "bad.py").write_text("def build(:")
    result = anygru("try", target)
    assert (result.status, result.out) == (2, "")
    assert f"TARGET {target} is not a Python script (" in result.error


def test_a_reader_that_leaves_is_no_failure(monkeypatch):
    """Rich's own answer to a closed pipe is status 1."""

    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):
        console().print("a line")


def test_a_link_to_a_missing_file(anygru, folder):
    assert "'link.png' is a link to 'absent/x.png', where there is no file" in anygru("inspect", "link.png").error
