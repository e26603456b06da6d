"""The parser: commands, help, and errors of one line."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

import anygru.cli
from anygru import save_checkpoint
from anygru.cli import COMMANDS, MODULES, Failure, UsageError, commands, main
from anygru.errors import how_to_install


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert (commands().keys() > COMMANDS.keys()) == (importlib.util.find_spec("anygru_lab") is not None)
    for name, help_line in commands().items():
        assert name in text
        assert help_line
        assert help_line in " ".join(text.split())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_closed_streams_lead_nowhere(tmp_path, closed):
    save_checkpoint(torch.nn.GRU(1, 2), tmp_path / "g.npz")
    command = f'"$0" -m anygru inspect g.npz {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_empty_target_writes_nothing(anygru, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_checkpoint(torch.nn.GRU(1, 2), "g.npz")
    for options in ([], ["--to", "oneflow"]):
        result = anygru("convert", "g.npz", "", *options)
        assert (result.status, os.listdir()) == (2, ["g.npz"])
        assert "must not be empty" in result.error


def test_without_arguments_there_is_help(anygru):
    result = anygru()
    assert result.status == 0
    assert "commands:" in result.out


def test_help_is_a_word_too(capsys):
    assert main(["help"]) == 0
    assert "commands:" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["help", "inspect"])
    assert capsys.readouterr().out.startswith("usage: anygru inspect")
    with pytest.raises(SystemExit):
        main(["-V"])
    assert capsys.readouterr().out == f"anygru {anygru.__version__}\n"


def test_version(capsys):
    import anygru

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"anygru {anygru.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nonsense"], "anygru: error: unknown command 'nonsense'; the installed commands are try, scan, run"),
        (["--nonsense"], "anygru: error: unrecognized arguments: --nonsense"),
        (["inspect", "x", "--nonsense"], "anygru inspect: error: unrecognized arguments: --nonsense"),
        (["launch", "--timeout", "many"], "anygru launch: error: argument --timeout: invalid float value: 'many'"),
        (["try", "x.py:f", "--seconds", "inf"], "anygru try: error: --seconds must be more than 0 and finite, got inf"),
        (["try", "x.py:f", "--threads", "5000"], "anygru try: error: --threads must be from 1 to 4096, got 5000"),
        (["try", "--onnx", ""], "anygru try: error: there is no file ''"),
        (
            ["launch", "--master-port", "-1", "-m", "x"],
            "anygru launch: error: --master-port must be from 0 to 65535, got -1",
        ),
        (
            ["launch", "--monitor-interval", "nan", "-m", "x"],
            "anygru launch: error: --monitor-interval must be above 0 seconds",
        ),
        (
            ["launch", "--rdzv-backend", "x", "-m", "x"],
            "anygru launch: error: an option of torchrun does not fit: The rendezvous",
        ),
        (["launch", "--log-dir", "-", "-m", "x"], "anygru launch: error: --log-dir: - is not standard output here"),
        (["inspect", "x", "--plo", "8"], "anygru inspect: error: unrecognized arguments: --plo"),
        (["inspect"], "anygru inspect: error: the following arguments are required: FILE"),
    ],
)
def test_a_wrong_call_gets_one_line_and_status_2(anygru, arguments, line):
    result = anygru(*arguments)
    assert result.status == 2
    assert result.error.startswith(line)
    assert result.error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (["convrt", "model.params"], "; did you mean convert?"),
        (["inspect", "model.params", "--plt"], "; did you mean --plot?"),
        (["convert", "model.params", "x", "--to=panddle"], "; did you mean paddle?"),
        (["inspect", "model.parms"], "there is no file 'model.parms'; did you mean model.params?"),
        (["inspect", "../FOLDER/model.parms"], "; did you mean ../FOLDER/model.params?"),
        (["inspect", "--plt", "x.png"], "; did you mean --plot?"),
        (["convert", "model.params", "x", "--to="], "'torch', 'torch_json')"),
        (["try", "script.py:biuld"], "script.py has no function 'biuld'; did you mean build?"),
    ],
)
def test_a_misspelt_word_gets_the_near_one(anygru, tmp_path, monkeypatch, arguments, end):
    """Commands, options, choices, files and functions."""
    save_checkpoint(torch.nn.ModuleDict({"gru": torch.nn.GRU(2, 3)}), tmp_path / "model.params")
    (tmp_path / "script.py").write_text("def build(): pass\n")
    monkeypatch.chdir(tmp_path)
    result = anygru(*(each.replace("FOLDER", tmp_path.name) for each in arguments))
    assert result.status == 2
    assert result.error.endswith(end.replace("FOLDER", tmp_path.name) + "\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_file_and_help(name, capsys):
    if importlib.util.find_spec(f"anygru.cli.{MODULES.get(name, name)}") is None:
        pytest.fail(f"cli/{name}.py is missing")
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    assert f"anygru {name}" in capsys.readouterr().out


def test_an_unknown_command_names_the_package_with_more(anygru, monkeypatch):
    monkeypatch.setattr("anygru.cli._entry_points", dict)
    result = anygru("train")
    assert result.status == 2
    assert result.error == (
        f"anygru: error: unknown command 'train'; the installed commands are {', '.join(COMMANDS)}; "
        f"commands to train and sample language models: {how_to_install('lab')}\n"
    )


def test_a_command_of_another_package_is_found(monkeypatch, tmp_path, capsys):
    (tmp_path / "hello_command.py").write_text(
        "'''Greet someone. Quickly.'''\n"
        "def add_arguments(parser): parser.add_argument('name')\ndef main(args): print('hello', args.name); return 0\n"
    )
    about = tmp_path / "hello-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hello\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[anygru.commands]\nhello = hello_command\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert commands()["hello"] == "greet someone"
    assert "hello_command" not in sys.modules
    assert main(["hello", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"


class FakeCommand:
    """What it does is raise."""

    def __init__(self, error):
        self.error = error

    def add_arguments(self, parser):
        pass

    def main(self, args):
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UsageError("a\n\x1b[31m\u202eb"), 2, "anygru convert: error: a\\n\\x1b[31m\\u202eb\n"),
        (Failure("died"), 1, "anygru convert: error: died\n"),
        (OSError(28, "No space left on device"), 1, "anygru convert: error: No space left on device\n"),
        (OSError(30, "Read-only file system", "a\n"), 2, "anygru convert: error: 'a\\n': Read-only file system\n"),
        (KeyboardInterrupt(), 130, "anygru convert: interrupted\n"),
    ],
)
def test_errors_become_a_line_and_a_status(anygru, monkeypatch, error, status, line):
    import anygru.cli as cli

    monkeypatch.setattr(cli, "_load", lambda name: FakeCommand(error))
    assert anygru_result(anygru("convert")) == (status, line)


def anygru_result(result):
    return result.status, result.error


def _allocate_too_much():
    try:
        torch.empty(1 << 60)
    except RuntimeError as error:
        return error


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate 7 GiB"), _allocate_too_much()], ids=type)
def test_too_little_memory_is_one_line(anygru, monkeypatch, error):
    import anygru.cli as cli

    monkeypatch.setattr(cli, "_load", lambda name: FakeCommand(error))
    status, line = anygru_result(anygru("convert"))
    assert status == 1
    assert line.startswith("anygru convert: error: not enough memory: ")
    assert line.count("\n") == 1


def test_an_unknown_error_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(anygru.cli, "_load", lambda name: FakeCommand(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["convert"])


def test_importing_the_parser_imports_no_command():
    program = "import sys, anygru.cli; print([name for name in sys.modules if name.startswith('anygru.cli.')])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_a_folder_that_cannot_be_listed_has_no_near_names(monkeypatch, capsys, tmp_path):
    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refused)
    monkeypatch.setattr(os, "listdir", refused)
    assert main(["inspect", str(tmp_path / "model.params")]) == 2
    assert capsys.readouterr().err == f"anygru inspect: error: there is no file {str(tmp_path / 'model.params')!r}\n"
