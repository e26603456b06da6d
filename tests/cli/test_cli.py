"""The parser: commands, help, and errors of one line."""

import importlib.util
import subprocess
import sys

import pytest
import torch

import anygru.cli
from anygru.cli import COMMANDS, Failure, UsageError, main


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for name, help_line in COMMANDS.items():
        assert name in text
        assert help_line in " ".join(text.split())


def test_without_arguments_there_is_help(anygru):
    result = anygru()
    assert result.status == 0
    assert "commands:" in result.out


def test_help_is_a_word_too(capsys):
    assert main(["help"]) == 0
    assert "commands:" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["help", "sample"])
    assert capsys.readouterr().out.startswith("usage: anygru sample")
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
        (["nonsense"], "anygru: error: unknown command 'nonsense'; the commands are train, forecast, sample"),
        (["--nonsense"], "anygru: error: unrecognized arguments: --nonsense"),
        (["train", "--nonsense"], "anygru train: error: unrecognized arguments: --nonsense"),
        (["train", "--hidden", "many"], "anygru train: error: argument --hidden: invalid int value: 'many'"),
        (["train", "--hid", "8"], "anygru train: error: unrecognized arguments: --hid"),
        (["sample"], "anygru sample: error: the following arguments are required: MODEL"),
    ],
)
def test_a_wrong_call_gets_one_line_and_status_2(anygru, arguments, line):
    result = anygru(*arguments)
    assert result.status == 2
    assert result.error.startswith(line)
    assert result.error.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_file_and_help(name, capsys):
    if importlib.util.find_spec(f"anygru.cli.{name}") is None:
        pytest.fail(f"cli/{name}.py is missing")
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    assert f"anygru {name}" in capsys.readouterr().out


def test_a_command_that_is_not_installed_says_so(anygru, monkeypatch):
    monkeypatch.setitem(COMMANDS, "absent", "")
    result = anygru("absent")
    assert result.status == 2
    assert result.error == "anygru absent: error: this installation of anygru has no `absent` command\n"


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
        (UsageError("a\n\x1b[31m\u202eb"), 2, "anygru train: error: a\\n\\x1b[31m\\u202eb\n"),
        (Failure("died"), 1, "anygru train: error: died\n"),
        (OSError(28, "No space left on device"), 1, "anygru train: error: No space left on device\n"),
        (OSError(30, "Read-only file system", "a\n"), 1, "anygru train: error: 'a\\n': Read-only file system\n"),
        (KeyboardInterrupt(), 130, "anygru train: interrupted\n"),
    ],
)
def test_errors_become_a_line_and_a_status(anygru, monkeypatch, error, status, line):
    import anygru.cli as cli

    monkeypatch.setattr(cli, "_load", lambda name: FakeCommand(error))
    assert anygru_result(anygru("train")) == (status, line)


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
    status, line = anygru_result(anygru("train"))
    assert status == 1
    assert line.startswith("anygru train: error: not enough memory: ")
    assert line.count("\n") == 1


def test_an_unknown_error_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(anygru.cli, "_load", lambda name: FakeCommand(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["train"])


def test_importing_the_parser_imports_no_command():
    program = "import sys, anygru.cli; print([name for name in sys.modules if name.startswith('anygru.cli.')])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
