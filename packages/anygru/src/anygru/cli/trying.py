"""Measure your model unchanged, accelerated and frozen: times, greatest differences, memory, and the lines to adopt it.
Each variant runs in a separate process, and the processes take turns.
"""

import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

from ..checkpoints.gate import Gate
from ..dialects.finder import EXTRAS
from ..errors import printable
from . import Failure, UsageError, existing, removing_temporary_files
from .terminal import console, count
from .variants import GAIN, Variant, draw, measured, show, spread

_LONGEST = 64 << 20
"""Bytes of a script."""
_MODELS = 2
"""The number of a script's models that are measured: the slowest ones."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="FILE.py:NAME or MODULE:NAME, a callable that returns (module, example inputs); or SCRIPT.py, whose models with a "
        "GRU are measured with the inputs that the script gives them",
    )
    parser.add_argument("--onnx", metavar="F.onnx", help="measure the GRU nodes of an ONNX model instead")
    parser.add_argument("--train", action="store_true", help="measure forward and backward instead of inference")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of torch (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="turns of each variant (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.3, metavar="S", help="length of a turn (default: 0.3)")
    parser.add_argument("--plot", metavar="F.png", help="draw the times into a picture")
    parser.add_argument("--arguments", default="", metavar="'...'", help="the script's own arguments, in one string")


def main(args: argparse.Namespace) -> int:
    """Measure, print the tables and a recommendation."""
    if (args.target is None) == (args.onnx is None):
        raise UsageError("give one of TARGET and --onnx F.onnx")
    if not 1 <= args.threads <= 4096:
        raise UsageError(f"--threads must be from 1 to 4096, got {args.threads}")
    if args.rounds < 1:
        raise UsageError(f"--rounds must be at least 1, got {args.rounds}")
    if not 0 < args.seconds < math.inf:
        raise UsageError(f"--seconds must be more than 0 and finite, got {args.seconds}")
    if args.onnx is not None and args.train:
        raise UsageError("--onnx measures inference; leave out --train")
    is_script = args.target is not None and ":" not in args.target
    if args.target is not None and not is_script and not all(args.target.rpartition(":")[::2]):
        raise UsageError(f"TARGET must be FILE.py:NAME, MODULE:NAME or SCRIPT.py, got {args.target!r}")
    if args.arguments and not is_script:
        raise UsageError("--arguments needs a script as TARGET")
    _check_files(args, is_script)
    with removing_temporary_files(), tempfile.TemporaryDirectory(prefix="anygru-") as folder:
        if is_script:
            tables = _try_script(args, folder)
        else:
            model = {"target": args.target, "onnx": args.onnx, "train": args.train, "threads": args.threads}
            variants = measured(model, args.rounds, args.seconds, folder)
            tables = {args.target or args.onnx: variants}
            show(variants)
    if args.plot and tables:
        draw(tables, args.plot)
    return 0


def _check_files(args: argparse.Namespace, is_script: bool) -> None:
    """Raise UsageError for a file that cannot be read or written, before the measurements."""
    file: str = args.onnx if args.target is None else args.target if is_script else args.target.rpartition(":")[0]
    if is_script or args.onnx is not None or file.endswith(".py"):
        existing(file)
    if is_script:
        _check_source(file)
    if args.plot is not None:
        from .plot import check

        check(args.plot, file)


def _check_source(script: str) -> None:
    """Raise UsageError if a script is not a file of Python source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the script's own, which it prints when it runs
            compile(Gate(script).start(_LONGEST), script, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        reason = f"line {line}: {error.args[0]}" if line else error
        raise UsageError(
            f"TARGET {script} is not a Python script ({reason}); for a checkpoint, write a function that builds its model, and "
            "name it as FILE.py:NAME; for an ONNX model, --onnx F.onnx"
        ) from None


def _try_script(args: argparse.Namespace, folder: str) -> dict[str, list[Variant]]:
    """Measure the models that a script calls, then the whole script, and print both; the tables by their titles."""
    command = [args.target, *_own_arguments(args.arguments)]
    _run([sys.executable, "-m", "anygru.cli.watching", folder, *command], "as it is")
    with open(os.path.join(folder, "watched.json")) as file:
        watched = json.load(file)
    out, script = console(), os.path.basename(args.target)
    called = sorted((model for model in watched["models"] if model["calls"]), key=lambda model: -model["seconds"])
    if not called and not watched["keras"]:
        out.print(
            printable(f"Keep the script as it is: {script} calls no module with a torch.nn.GRU or GRUCell."),
            markup=False,
        )
        return {}
    tables: dict[str, list[Variant]] = {}
    for model in called[:_MODELS]:
        place = f"{model['name']} ({model['line']}, {count(model['calls'], 'call')})"
        if not model["inference"]:
            out.print(printable(f"{place} is not measured: {model['why_not']}"), markup=False)
            continue
        for train in [True] if args.train else [True, False] if model["training"] else [False]:
            request = {
                "script": command,
                "number": model["number"],
                "state": model["state"],
                "inputs": (train and model["training"]) or model["inference"],
                "train": train,
                "threads": args.threads,
            }
            title = f"{place}, {'training steps' if train else 'inference'}"
            out.print(printable(title), markup=False)
            tables[title] = measured(request, args.rounds, args.seconds, folder)
            show(tables[title], recommends=False)
            out.print()
    if len(called) > _MODELS:
        out.print(f"{count(len(called) - _MODELS, 'further model')} with a GRU took less time.")
    _whole(args, command, sum(model["seconds"] for model in called))
    return tables


def _own_arguments(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--arguments {text!r}: {error}") from None


def _run(command: list[str], how: str) -> float:
    """Run a script to its end and give the seconds."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
        places = re.findall(r'^ +File "([^"]+)", line (\d+)', done.stderr, re.MULTILINE)
        own = [f"{file}:{line}: " for file, line in places if not file.startswith((sys.prefix, sys.base_prefix, "<"))]
        missing = re.match(r"ModuleNotFoundError: No module named '(\w+)", last[0])
        way = ""
        if missing is not None and missing[1] in EXTRAS:
            way = f"; a script for {missing[1]} runs with `anygru run`, and is not measured"
        raise Failure(f"the script {how} ended with status {done.returncode}: {''.join(own[-1:])}{last[0]}{way}")
    return time.perf_counter() - start


def _whole(args: argparse.Namespace, command: list[str], model_seconds: float) -> None:
    """Run a whole script unchanged and under `anygru run --accelerate`, in turns, and print the times."""
    commands = {
        "as it is": [sys.executable, *command],
        "accelerated": [sys.executable, "-m", "anygru", "run", "--accelerate", *command],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, each in commands.items():
            seconds[name].append(_run(each, name))
    before, after = (statistics.median(each) for each in seconds.values())
    found = spread(*seconds.values())
    out = console()
    out.print("The whole script, with start and end")
    out.print(f"as it is      {before:8.2f} s")
    out.print(f"accelerated   {after:8.2f} s   {found} times as fast", markup=False)
    if found.least >= GAIN:
        out.print(f"\nRecommended: anygru run --accelerate {shlex.join(command)}", markup=False)
    else:
        share = min(1.0, model_seconds / before)
        out.print(
            f"Keep the script as it is: its models with a GRU take {share:.0%} of its time. A table above shows their gain in "
            "a program that calls them more often, such as a service."
        )
