"""Run a Python program written for Paddle, OneFlow, MXNet or Chainer, unmodified: their import names give anygru's
dialects, also in every process that the program starts.
"""

import argparse
import os
import subprocess
import sys

from .. import dialects
from . import UsageError
from .spinning import bounded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; everything after the script or the module belongs to it."""
    parser.add_argument(
        "--accelerate", action="store_true", help="also call anygru.accelerate() in each process that imports torch"
    )
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE [ARG...]",
        help="run a module, like python -m",
    )
    parser.add_argument("script", nargs="?", help="the program's file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="the program's own arguments")


def main(args: argparse.Namespace) -> int:
    """Replace this process by an interpreter that runs the program.

    The process is replaced by a plain `python script.py ...` whose environment brings the import hook, so exit status,
    signals, tracebacks, `sys.argv`, `sys.path` and `__main__` are unchanged, because the process is plain Python.
    """
    program = _program(args)
    if sys.flags.ignore_environment or sys.flags.no_site:
        raise UsageError("the import hook needs PYTHONPATH and site: start Python without -E, -I and -S")
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *flags, *program]
    environment = bounded(dialects.environment(os.environ, accelerate=args.accelerate))
    if os.name == "nt":  # Windows starts a second process for exec and does not wait for it
        return subprocess.run(command, env=environment).returncode
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, environment)


def _program(args: argparse.Namespace) -> list[str]:
    """Return the program and its arguments in the form of Python's own command line."""
    if args.module is not None:
        if not args.module:
            raise UsageError("-m needs the name of a module")
        return ["-m", *args.module]
    if args.script is None:
        raise UsageError("give a script, or -m and a module")
    return [args.script, *args.arguments]
