"""The command line: `anygru COMMAND ...`.

A command is a module with two functions, `add_arguments(parser)` and `main(args) -> int`; a third one, `parents()`, may
return parent parsers. It is a file in this folder, or has an entry point in the group
`anygru.commands` of another package. It is imported only when it is chosen, so that `anygru --help` stays quick.

Exit status: 0 done; 2 bad input, with one line on standard error; 1 a failure on the way; 130 or 143 after Ctrl-C or
SIGTERM.
"""

import argparse
import ast
import contextlib
import errno
import importlib
import importlib.util
import itertools
import os
import re
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any, NoReturn

from ..errors import AnygruError, how_to_install, near, printable

GROUP = "anygru.commands"
"""The entry points of other packages' commands: name -> module."""
MODULES = {"try": "trying", "export-c": "export_c"}
"""Commands of this package in a file of another name: their names are not valid for modules."""
COMMANDS = {
    "try": "measure your own model as it is, accelerated and frozen",
    "scan": "list the GRUs in source code, with file and line",
    "run": "run a Paddle, OneFlow, MXNet or Chainer script on PyTorch",
    "inspect": "show what is in a checkpoint",
    "convert": "write a checkpoint in another framework's form",
    "export-c": "write a GRU as one file in C, and as a web page",
    "launch": "start the processes of a distributed job (torchrun)",
}
"""Commands of this package and their descriptions."""


class UsageError(AnygruError):
    """The arguments cannot be used; the message is one line with the argument and the reason."""


def needed(package: str, purpose: str, extra: str) -> Any:
    """Import a package that an extra brings, for a purpose such as "--plot".

    Raises:
        UsageError: it is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.rpartition(".")[2] if package.startswith("torch.") else package.partition(".")[0]
        raise UsageError(f"{purpose} needs the package {name}: {how_to_install(extra)}") from None


NARROWEST = 12
"""Columns of a terminal; text for a narrower one is broken as for this width."""


class Failure(Exception):
    """A command failed for a known reason; the message is one line."""


class Stopped(SystemExit):
    """A signal asked the process to end; the code is the exit status."""


class Help(argparse.HelpFormatter):
    """Help with a short usage line: only positional arguments, since the options are listed below it."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        options = argparse.Action([], "options", nargs="*", metavar="OPTION")
        super().add_usage(usage, [options, *(each for each in actions if not each.option_strings)], [], prefix)


class Parser(argparse.ArgumentParser):
    """An argument parser with errors of one line, without the usage text, and with help for narrow terminals."""

    def error(self, message: str) -> NoReturn:
        """Raise the error of argparse with the option or choice that is spelled most like the unknown one."""
        choice = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message)
        if choice is not None:
            message += near(choice[1], re.split(r"[', ]+", choice[2]))
        if message.startswith(("unrecognized arguments", "the following arguments are required")):
            message += next(filter(None, map(self._near_option, self._given)), "")
        raise UsageError(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, and keep the arguments for `error`."""
        self._given = list(itertools.takewhile("--".__ne__, args or ()))
        return super().parse_known_args(args, namespace)

    def _near_option(self, argument: str) -> str:
        """The end of a message about an argument that is a misspelt option; "" for another argument."""
        option = argument.partition("=")[0]
        known = self._option_string_actions
        return near(option, known) if option.startswith("--") and option not in known else ""

    def format_help(self) -> str:
        """Return the help, with lines that argparse cannot break (long choices, options and descriptions) broken."""
        return "".join(f"{_fitted(line)}\n" for line in super().format_help().splitlines())


def _fitted(line: str) -> str:
    """Break a line that is wider than the terminal, and indent the rest to the second column, if any."""
    width = max(shutil.get_terminal_size().columns, NARROWEST) - 2
    if len(line) <= width:
        return line
    first = re.match(r" *(\S+ {2,})?", line)
    assert first is not None
    indent = " " * (first.end() if first[1] else first.end() + 2 * line.startswith(" "))
    return textwrap.fill(re.sub(r",(?=\S)", ", ", line), width, subsequent_indent=indent, break_on_hyphens=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _open_closed_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = arguments[0] if arguments and (arguments[0] in COMMANDS or arguments[0] in _entry_points()) else None
    try:
        if name is None:
            return _without_command(arguments)
        command = _load(name)
        parser = Parser(
            prog=f"anygru {name}",
            description=_description(command, name),
            parents=command.parents() if hasattr(command, "parents") else [],
            formatter_class=Help,
            conflict_handler="resolve",
            allow_abbrev=False,
        )
        command.add_arguments(parser)
        status = command.main(parser.parse_args(arguments[1:]))
        sys.stdout.flush()  # a closed pipe raises here, where it is handled, and not in the interpreter's exit
        return status
    except (AnygruError, Failure, OSError, KeyboardInterrupt) as error:
        return _report(error, f"anygru {name}" if name else "anygru")
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        return _report(Failure(f"not enough memory: {' '.join(str(error).split())}"), f"anygru {name}")


def _open_closed_streams() -> None:
    """Let streams that the shell closed (`>&-`) lead nowhere: Python has None for them, and files would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _names_in(folder: str) -> list[str]:
    """Some names of a folder; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in itertools.islice(entries, 1000)]
    except OSError:
        return []


def existing(path: str) -> str:
    """Return the path of a file or folder; commands ask before they import torch, which takes seconds.

    Raises:
        UsageError: it does not exist.
    """
    if not os.path.exists(path):
        if os.path.islink(path):
            raise UsageError(f"{path!r} is a link to {os.readlink(path)!r}, where there is no file")
        folder, name = os.path.split(path)
        raise UsageError(f"there is no file {path!r}{near(name, _names_in(folder or '.'), os.path.join(folder, ''))}")
    return path


@contextlib.contextmanager
def removing_temporary_files() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exit, so that `finally` blocks remove unfinished files."""

    def leave(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the removal
        raise Stopped(128 + number)

    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    old = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _without_command(arguments: list[str]) -> int:
    """Handle `anygru`, `anygru --help`, `anygru --version` and unknown commands."""
    from .. import __version__

    found = commands()
    width = max(map(len, found)) + 2
    listing = "\n".join(f"  {name:{width}}{help_line}" for name, help_line in found.items())
    parser = Parser(
        prog="anygru",
        usage="anygru COMMAND ...",
        description="One GRU for PyTorch, speaking every framework's dialect.",
        epilog=f"commands:\n{listing}\n\n`anygru COMMAND --help` lists the arguments of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"anygru {__version__}")
    if not arguments or arguments == ["help"]:
        parser.print_help()
        return 0
    if arguments[0] == "help":
        return main([*arguments[1:], "--help"])
    if not arguments[0].startswith("-"):
        lab = f"; commands to train and sample language models: {how_to_install('lab')}"
        raise UsageError(
            f"unknown command {arguments[0]!r}; the installed commands are {', '.join(found)}"
            f"{near(arguments[0], found) or lab * ('train' not in found)}"
        )
    parser.parse_args(arguments)
    raise UsageError("a command is needed, for example `anygru train`")


def commands() -> dict[str, str]:
    """Return the descriptions of all installed commands, by name; no command is imported."""
    others = {name: _first_sentence(module) for name, module in sorted(_entry_points().items())}
    return {**COMMANDS, **{name: sentence for name, sentence in others.items() if sentence}}


def _entry_points() -> dict[str, str]:
    """Return the commands of other packages: name -> module."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=GROUP)}


def _first_sentence(module: str) -> str:
    """Return the start of a module's docstring without importing it; "" if the module cannot be found."""
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:  # of an outdated entry point
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    with open(spec.origin, encoding="utf-8") as file:
        text = ast.get_docstring(ast.parse(file.read())) or ""
    sentence = " ".join(re.split(r"[.;](?:\s|$)|, or ", text, maxsplit=1)[0].split())
    return sentence[:1].lower() + sentence[1:]


def _load(name: str) -> ModuleType:
    module = f"{__name__}.{MODULES.get(name, name)}" if name in COMMANDS else _entry_points()[name]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"needs the package {error.name}, which is not installed") from error


def _description(command: ModuleType, name: str) -> str:
    return (command.__doc__ or COMMANDS.get(name, "")).split("\n\n")[0]


def _out_of_memory(error: Exception) -> bool:
    """Return whether an error means that memory ran out; torch raises a RuntimeError for it."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "DefaultCPUAllocator" in str(error)
    )


def _words(error: BaseException) -> str:
    """Return the message; of an error of the system without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename!r}: {error.strerror}" if error.filename is not None else error.strerror
    return str(error)


def _report(error: BaseException, command: str) -> int:
    """Print one line on standard error and return the error's exit status."""
    if isinstance(error, BrokenPipeError):
        # The reader (such as `head`) closed the pipe. Without this, Python prints a second error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt):
        print(f"{command}: interrupted", file=sys.stderr)
        return 130
    print(f"{command}: error: {printable(_words(error)) or type(error).__name__}", file=sys.stderr)
    of_a_path = isinstance(error, OSError) and error.filename is not None and error.errno in _OF_A_PATH
    return 2 if isinstance(error, AnygruError) or of_a_path else 1


_OF_A_PATH = {
    getattr(errno, name)
    for name in ["EACCES", "EEXIST", "EISDIR", "ELOOP", "ENAMETOOLONG", "ENOENT", "ENOTDIR", "EPERM", "EROFS"]
    if hasattr(errno, name)
}
"""Errors of the system that mean that a path cannot be used; others, such as a full disk, are failures on the way."""
