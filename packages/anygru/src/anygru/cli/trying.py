"""Measure your own model as it is, accelerated and frozen: times, greatest differences, memory, and the lines to adopt it.

Each variant runs in a process of its own, and the processes take turns.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import printable
from . import Failure, UsageError, existing, needed, removing_temporary_files
from .terminal import console

VARIANTS = ("as it is", "accelerated", "frozen float32", "frozen bfloat16", "frozen int8")
ADOPT = {
    "accelerated": "anygru.accelerate(model)",
    "frozen float32": 'anygru.freeze(model, weights="float32")',
    "frozen bfloat16": 'anygru.freeze(model, weights="bfloat16")',
    "frozen int8": 'anygru.freeze(model, weights="int8")',
}
GAIN = 1.05
"""A variant is recommended if it is this much faster than the model as it is ..."""
CLOSE = {"accelerated": 1e-4, "frozen float32": 1e-4, "frozen bfloat16": 1e-3, "frozen int8": 1e-2}
"""... and differs by no more than this share of the greatest output."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="FILE.py:NAME or MODULE:NAME, a callable that returns (module, example inputs); or SCRIPT.py, run as a whole",
    )
    parser.add_argument("--onnx", metavar="F.onnx", help="measure the GRU nodes of an ONNX model instead")
    parser.add_argument("--train", action="store_true", help="measure forward and backward instead of inference")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of torch (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="turns of each variant (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.3, metavar="S", help="length of a turn (default: 0.3)")
    parser.add_argument("--plot", metavar="F.png", help="draw the times into a picture")


def main(args: argparse.Namespace) -> int:
    """Measure, print the table and say what to do."""
    if (args.target is None) == (args.onnx is None):
        raise UsageError("give one of TARGET and --onnx F.onnx")
    for name in ("threads", "rounds"):
        if getattr(args, name) < 1:
            raise UsageError(f"--{name} must be at least 1, got {getattr(args, name)}")
    if not args.seconds > 0:
        raise UsageError(f"--seconds must be more than 0, got {args.seconds}")
    if args.target is not None and ":" not in args.target:
        return _try_script(existing(args.target), args.rounds)
    if args.onnx is not None and args.train:
        raise UsageError("--onnx measures inference; leave out --train")
    file: str = args.onnx or (args.target or "").rpartition(":")[0]
    if args.onnx or file.endswith(".py"):
        existing(file)
    with removing_temporary_files(), tempfile.TemporaryDirectory(prefix="anygru-") as folder:
        variants = [Variant(name, folder, args) for name in (VARIANTS[:2] if args.train else VARIANTS)]
        try:
            _measure(variants, args.rounds, args.seconds)
        finally:
            for variant in variants:
                variant.close()
    _print(variants)
    if args.plot:
        _plot(variants, args.plot)
    return 0


@dataclass
class Variant:
    """A process with one variant of the model."""

    name: str
    folder: str
    args: argparse.Namespace
    error: str = ""
    difference: float = 0.0
    greatest: float = 0.0
    repeatable: bool = True
    bytes: int = 0
    report: str = ""
    times: list[float] = field(default_factory=list)

    process: "subprocess.Popen[str] | None" = None

    @property
    def output(self) -> Path:
        """The file with the model's output."""
        return Path(self.folder, self.name.replace(" ", "_") + ".pt")

    def open(self) -> None:
        """Begin the process, which imports torch while others do."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anygru.cli.trial"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def start(self) -> None:
        """Build the model and call it once."""
        request = {
            "target": self.args.target,
            "variant": self.name,
            "train": self.args.train,
            "threads": self.args.threads,
            "onnx": self.args.onnx,
            "output": str(self.output),
        }
        answer = self.ask(request)
        self.error = answer.get("error", "")
        self.report = answer.get("report", "")
        self.repeatable = answer.get("repeatable", True)
        self.bytes = answer.get("bytes", 0)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"its process ended with status {self.process.wait()}"}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def is_close(self) -> bool:
        return self.difference <= CLOSE.get(self.name, 0.0) * max(self.greatest, 1e-30)


def _measure(variants: list[Variant], rounds: int, seconds: float) -> None:
    """Fill the variants with times and differences to the first one."""
    import torch

    variants[0].open()
    expected = None
    for variant in variants:
        variant.start()
        if variant.error:
            if expected is None:
                raise Failure(f"the model as it is fails: {variant.error}")
            continue
        if expected is None:  # only now, since a wrong target would fail in all of them
            for other in variants[1:]:
                other.open()
        output = torch.load(variant.output, weights_only=True)
        if expected is None:
            expected = output
        if output.shape != expected.shape:
            variant.error = f"it returns {output.numel()} numbers, the model as it is {expected.numel()}"
        elif output.numel():
            variant.difference = (output - expected).abs().max().item()
            variant.greatest = expected.abs().max().item()
    running = [variant for variant in variants if not variant.error]
    for variant in running:
        variant.ask({"seconds": seconds / 4})
    for _ in range(rounds):
        for variant in running:
            variant.times += variant.ask({"seconds": seconds})["times"]


def _print(variants: list[Variant]) -> None:
    from rich.table import Table

    out = console()
    first = variants[0]
    table = Table(box=None, pad_edge=False)
    for name in ("variant", "median ms", "times as fast", "greatest difference", "peak memory"):
        table.add_column(name, justify="left" if name == "variant" else "right")
    for each in variants:
        if each.error:
            table.add_row(each.name, "", "", printable(each.error), "")
            continue
        ratio = first.median / each.median
        memory = f"{each.bytes / 2**20:.0f} MiB" if each.bytes else ""
        table.add_row(each.name, f"{1e3 * each.median:.3f}", f"{ratio:.2f}", f"{each.difference:.1e}", memory)
    out.print(table)
    if not first.repeatable:
        out.print("The model gives other numbers at each call, so the differences say little.")
    best = recommended(variants)
    if best is None:
        out.print("Keep the model as it is: no variant is faster and close enough.")
        out.print(printable(variants[1].report), markup=False)
        return
    out.print(f"\nRecommended: {best.name}, {first.median / best.median:.2f} times as fast.", markup=False)
    lines = ["import anygru", ADOPT[best.name]]
    if variants[0].args.onnx:
        how = best.name.partition(" ")[2]
        lines[1] = f"layers = anygru.onnx.load({variants[0].args.onnx!r})  # by the names of the nodes"
        lines += [f"frozen = {{name: layer.freeze(weights={how!r}) for name, layer in layers.items()}}"] * bool(how)
    out.print("\n" + "\n".join(f"    {line}" for line in lines), markup=False)


def recommended(variants: list[Variant]) -> Variant | None:
    """The fastest variant that is faster than the model as it is and close to its output; None if there is none."""
    first, *others = variants
    good = [each for each in others if each.times and each.is_close() and first.median >= GAIN * each.median]
    return min(good, key=lambda each: each.median, default=None)


def _plot(variants: list[Variant], path: str) -> None:
    figures = needed("matplotlib.figure", "--plot", "lab")
    from ..checkpoints.writing.atomic import open_for_replace

    measured = [each for each in variants if each.times]
    figure = figures.Figure(figsize=(7, 0.6 + 0.5 * len(measured)), layout="constrained")
    axes = figure.add_subplot()
    bars = axes.barh([each.name for each in measured], [1e3 * each.median for each in measured], color="#4c78a8")
    axes.bar_label(bars, fmt="%.3g", padding=3)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds per call (median)")
    with open_for_replace(path) as file:
        figure.savefig(file, format="png", dpi=150)
    print(printable(f"picture: {path}"))


def _try_script(script: str, rounds: int) -> int:
    """Run a whole script as it is and under `anygru run --accelerate`, in turns, and compare the times."""
    commands = {
        "as it is": [sys.executable, script],
        "accelerated": [sys.executable, "-m", "anygru", "run", "--accelerate", script],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
                raise Failure(f"the script {name} ended with status {done.returncode}: {last[0]}")
            seconds[name].append(time.perf_counter() - start)
    before, after = (statistics.median(each) for each in seconds.values())
    out = console()
    out.print(f"as it is      {before:8.2f} s")
    out.print(f"accelerated   {after:8.2f} s   {before / after:.2f} times as fast")
    if before >= GAIN * after:
        out.print(f"\nanygru run --accelerate {script}", markup=False)
    else:
        out.print("Keep the script as it is: its GRUs are a small part of its time, or it has none.")
    return 0
