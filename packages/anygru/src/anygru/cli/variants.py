"""Measure the variants of a model for `anygru try` in separate processes: the turns, the table, the picture."""

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import printable
from . import Failure, UsageError, needed
from .terminal import console

if TYPE_CHECKING:
    from torch import Tensor

VARIANTS = ("as it is", "accelerated", "frozen float32", "frozen bfloat16", "frozen bfloat16_rows", "frozen int8")
ADOPT = {
    "accelerated": "anygru.accelerate(model)",
    "frozen float32": 'anygru.freeze(model, weights="float32")',
    "frozen bfloat16": 'anygru.freeze(model, weights="bfloat16")',
    "frozen bfloat16_rows": 'anygru.freeze(model, weights="bfloat16_rows")',
    "frozen int8": 'anygru.freeze(model, weights="int8")',
}
GAIN = 1.05
"""A variant is recommended if it is this much faster than the unchanged model in every turn ..."""
CLOSE = {
    "accelerated": 1e-4,
    "frozen float32": 1e-4,
    "frozen bfloat16": 1e-3,
    "frozen bfloat16_rows": 1e-2,
    "frozen int8": 1e-2,
}
"""... and differs by no more than this share of the greatest output."""


class Spread(NamedTuple):
    """The ratio of two medians, and the least and the greatest ratio of a turn."""

    ratio: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.ratio:.2f} ({self.least:.2f} to {self.most:.2f})"


def spread(before: list[float], after: list[float]) -> Spread:
    """Compare times that were measured in turns."""
    ratios = [one / other for one, other in zip(before, after, strict=True)]
    return Spread(statistics.median(before) / statistics.median(after), min(ratios), max(ratios))


@dataclass
class Variant:
    """A process with one variant of the model; `model` is the request that `trial` reads: the source of the model, and
    how to run it. `turns` has the median time of each turn."""

    name: str
    folder: str
    model: dict[str, Any]
    error: str = ""
    difference: float = 0.0
    greatest: float = 0.0
    repeatable: bool = True
    bytes: int = 0
    is_layer: bool = False
    is_dead: bool = False
    report: str = ""
    times: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)

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
        answer = self.ask({**self.model, "variant": self.name, "output": str(self.output)})
        self.error, self.is_dead = answer.get("error", ""), answer.get("dead", False)
        self.report = answer.get("report", "")
        self.repeatable = answer.get("repeatable", True)
        self.bytes = answer.get("bytes", 0)
        self.is_layer = answer.get("is_layer", False)

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
        return (
            json.loads(line)
            if line
            else {"error": f"its process ended with status {self.process.wait()}", "dead": True}
        )

    def turn(self, seconds: float) -> list[float]:
        """The times of the calls of one turn; none, and an error, if a call fails."""
        answer = self.ask({"seconds": seconds})
        self.error, self.is_dead = answer.get("error", ""), answer.get("dead", False)
        found: list[float] = answer.get("times", [])
        return found

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def ratios(self, first: "Variant") -> Spread:
        """How many times as fast as the unchanged model this variant is."""
        return spread(first.turns, self.turns)

    def is_close(self) -> bool:
        return self.difference <= CLOSE.get(self.name, 0.0) * max(self.greatest, 1e-30)


def measured(model: dict[str, Any], rounds: int, seconds: float, folder: str) -> list[Variant]:
    """Measure a model and its variants in turns; when it trains, nothing can be frozen."""
    variants = [Variant(name, folder, model) for name in (VARIANTS[:2] if model["train"] else VARIANTS)]
    try:
        _measure(variants, rounds, seconds)
    finally:
        for variant in variants:
            variant.close()
    return variants


def _measure(variants: list[Variant], rounds: int, seconds: float) -> None:
    """Fill the variants with times and differences to the first one."""
    import torch

    variants[0].open()
    expected = None
    for variant in variants:
        variant.start()
        if variant.error:
            _check(variants[0])
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
            variant.difference = distance(output, expected).max().item()
            variant.greatest = expected.abs().masked_fill(~expected.isfinite(), 0.0).max().item()  # a mask gives -inf
    running = [variant for variant in variants if not variant.error]
    for variant in running:
        variant.turn(seconds / 4)
    for _ in range(rounds):
        for variant in running:
            if times := [] if variant.error else variant.turn(seconds):
                variant.times += times
                variant.turns.append(statistics.median(times))
        _check(variants[0])


def distance(found: "Tensor", expected: "Tensor") -> "Tensor":
    """How far numbers are apart; 0 for two equal infinities, such as a mask's, and for two NaNs."""
    both = (found == expected) | (found.isnan() & expected.isnan())
    return (found - expected).abs().masked_fill(both, 0.0)


def _check(first: Variant) -> None:
    """Raise the error of the unchanged model, if any: without it there is nothing to compare."""
    if first.error:
        kind = Failure if first.is_dead else UsageError
        raise kind(f"the model as it is cannot be measured: {first.error}")


def show(variants: list[Variant], recommends: bool = True) -> None:
    """Print the table and, if the model alone decides, a recommendation."""
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
        ratio = "1" if each is first else str(each.ratios(first))
        memory = f"{each.bytes / 2**20:.0f} MiB" if each.bytes else ""
        table.add_row(each.name, f"{1e3 * each.median:.3f}", ratio, f"{each.difference:.1e}", memory)
    out.print(table)
    if not first.repeatable:
        out.print("The model gives other numbers at each call, so the differences say little.")
    if not recommends:
        return
    best = recommended(variants)
    if best is None:
        out.print("Keep the model as it is: no variant is faster and close enough.")
        if variants[1].report:
            out.print(printable(variants[1].report), markup=False)
        return
    out.print(f"\nRecommended: {best.name}, {best.ratios(first)} times as fast.", markup=False)
    lines = ["import anygru", ADOPT[best.name]]
    if first.is_layer and best.name.startswith("frozen"):  # it has no place in which it could be exchanged
        lines[1] = f"holder = torch.nn.ModuleList([model]); {ADOPT[best.name].replace('model', 'holder')}"
        lines.append("model = holder[0]")
    if onnx := first.model.get("onnx"):
        how = best.name.partition(" ")[2]
        lines[1] = f"layers = anygru.onnx.load({onnx!r})  # by the names of the nodes"
        lines += [f"frozen = {{name: layer.freeze(weights={how!r}) for name, layer in layers.items()}}"] * bool(how)
    out.print("\n" + "\n".join(f"    {line}" for line in lines), markup=False)


def recommended(variants: list[Variant]) -> Variant | None:
    """The fastest variant that is close to the output and faster in every turn, or None.

    If the spreads of several variants overlap with the fastest, the most exact of these variants.
    """
    first, *others = variants
    good = [each for each in others if each.times and each.is_close() and each.ratios(first).least >= GAIN]
    fastest = min(good, key=lambda each: each.median, default=None)
    if fastest is None:
        return None
    return next(each for each in good if each.ratios(first).most >= fastest.ratios(first).least)


def draw(tables: dict[str, list[Variant]], path: str) -> None:
    """Draw the times of each table, under its title, into one picture."""
    figures = needed("matplotlib.figure", "--plot", "lab")
    from .plot import save

    rows = [sum(bool(each.times) for each in variants) for variants in tables.values()]
    figure = figures.Figure(dpi=150, figsize=(7, sum(0.6 + 0.5 * number for number in rows)), layout="constrained")
    panels = figure.subplots(len(tables), squeeze=False, height_ratios=rows).flat
    for axes, (title, variants) in zip(panels, tables.items(), strict=True):
        timed = [each for each in variants if each.times]
        bars = axes.barh([each.name for each in timed], [1e3 * each.median for each in timed], color="#4c78a8")
        axes.bar_label(bars, fmt="%.3g", padding=3)
        axes.invert_yaxis()
        axes.set_xlabel("milliseconds per call (median)")
        axes.set_title(printable(title), fontsize=10, parse_math=False)
    save(figure, path)
