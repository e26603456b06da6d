"""Results as a table in the terminal, a JSON file and a picture."""

import datetime
import json
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from side_by_side.measure import ROUNDED, Cell, Timing

from anygru.cli.terminal import console
from anygru.errors import printable
from anygru.extend import open_for_replace


@dataclass
class Row:
    """The results and the machine's limits of one cell."""

    cell: Cell
    results: dict[str, Timing]
    limits: dict[str, float]

    @property
    def timed(self) -> dict[str, Timing]:
        return {name: timing for name, timing in self.results.items() if timing.error is None}

    @property
    def ratio(self) -> float | None:
        """The time of the fastest peer divided by anygru's."""
        others = [timing.median for name, timing in self.timed.items() if name != "anygru"]
        return min(others) / self.timed["anygru"].median if others and "anygru" in self.timed else None

    @property
    def limit(self) -> float | None:
        """The lower bound of a call in seconds: `estimate`, or the shortest measured time if it is less."""
        if self.estimate is None:
            return None
        return min([self.estimate, *(timing.median for timing in self.timed.values())])

    @property
    def estimate(self) -> float | None:
        """Seconds of the matrix products or of reading the weights, from the measured speed of each alone.

        Both are measured after the calls and with torch's product, so a call can take less.
        """
        if "gflops" not in self.limits or self.cell.frozen in ROUNDED:  # the limits are for float32
            return None
        cell = self.cell
        flops, bytes = self.limits["gflops"] * 1e9, self.limits["gbytes"] * 1e9
        if cell.steps == 1 and not cell.train:
            return max(cell.flops / flops, 4.0 * cell.weights / bytes)
        # The input's products are done at once. A step can share the reading of its weights among the batch, not among steps.
        of_input = 2.0 * cell.rows * (cell.weights - cell.recurrent) / flops
        of_state = 2.0 * cell.rows * cell.recurrent / flops
        recurrence = max(of_state, cell.steps * 4.0 * cell.recurrent / bytes)
        return 3 * of_input + 2 * recurrence + of_state if cell.train else of_input + recurrence


def print_rows(rows: list[Row]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = console()
    for row in rows:
        title = row.cell.describe() + (", forward and backward" if row.cell.train else ", inference")
        out.print(f"[italic]{escape(title)}[/]")  # a table's own title wraps where the table is narrow
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("", overflow="fold")
        for heading in ("ms", "+-", "GFLOP/s", "slowdown"):
            table.add_column(heading, justify="right", no_wrap=True)
        own = row.timed["anygru"].median if "anygru" in row.timed else None
        for name, timing in sorted(row.timed.items(), key=lambda item: item[1].median):
            factor = "" if own is None or name == "anygru" else f"{timing.median / own:.2f}"
            speed = f"{row.cell.flops / timing.median / 1e9:.1f}"
            cells = (f"{timing.median * 1e3:.3f}", f"{100 * timing.spread:.0f} %", speed, factor)
            table.add_row(name, *cells)
        out.print(table)
        for name, timing in row.results.items():
            if timing.error is not None:
                out.print(escape(printable(f"{name}: {timing.error}")))
        if own is not None and row.limit is not None and row.estimate is not None:
            speeds = (row.limits["gflops"], row.limits["gbytes"])
            alone = "large matrix product {:.0f} GFLOP/s, reading the weights {:.0f} GB/s".format(*speeds)
            if row.limit < row.estimate:
                alone = f"the fastest call; {alone} made it {row.estimate * 1e3:.3f} ms"
            out.print(f"limit {row.limit * 1e3:.3f} ms ({alone}): anygru reaches {100 * row.limit / own:.0f} % of it")
        versions = (f"{name} {timing.version}" for name, timing in row.timed.items())
        out.print(escape(printable(f"slowdown: against anygru. Versions: {', '.join(versions)}")), end="\n\n")


def commit() -> str:
    """Return the commit of this checkout, with "-dirty" where files differ from it; "unknown" outside of git."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def machine() -> dict[str, str]:
    """Return CPU, system, versions, date and commit."""
    import torch

    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    facts = {
        "cpu": name,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    try:
        from anygru.extend import native

        facts["instruction set"] = native.isa()
    except ImportError:
        facts["instruction set"] = "no native kernels"
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
    facts["date"] = datetime.date.today().isoformat()
    facts["commit"] = commit()
    return facts


def write_json(path: Path, rows: list[Row], threads: int) -> None:
    """Write medians, spreads and versions of every cell, and the machine."""
    cells = []
    for row in rows:
        results = {
            name: {"version": timing.version, "error": timing.error}
            if timing.error
            else {
                "version": timing.version,
                "median_ms": timing.median * 1e3,
                "spread": timing.spread,
                "calls": len(timing.times),
            }
            for name, timing in row.results.items()
        }
        limit = None if row.limit is None else row.limit * 1e3
        cells.append({"cell": asdict(row.cell), "results": results, "limits": row.limits, "limit_ms": limit})
    with open_for_replace(path, "w") as file:
        file.write(json.dumps({"machine": machine(), "threads": threads, "cells": cells}, indent=1) + "\n")


def read_json(path: Path) -> list[Row]:
    """Read the output of `write_json`; each implementation has its median as the only time."""
    rows = []
    for entry in json.loads(path.read_text())["cells"]:
        facts = dict(entry["cell"])
        lengths = facts.pop("lengths")
        cell = Cell(**facts, lengths=tuple(lengths) if lengths else None)
        results = {
            name: Timing(
                found["version"], [found["median_ms"] / 1e3] if "median_ms" in found else [], found.get("error")
            )
            for name, found in entry["results"].items()
        }
        rows.append(Row(cell, results, entry["limits"]))
    return rows


def write_plot(path: Path, rows: list[Row], threads: int) -> None:
    """Draw bars of GFLOP/s, grouped by cell and coloured by implementation, with a line at the machine's limit."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for row in rows for name in row.timed))
    figure = Figure(figsize=(max(6.0, 1.1 * len(rows) * max(1.0, len(names) / 4)), 4.8), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(names))
    for number, name in enumerate(names):
        places = [place for place, row in enumerate(rows) if name in row.timed]
        speeds = [rows[place].cell.flops / rows[place].timed[name].median / 1e9 for place in places]
        axes.bar([place + (number + 0.5) * width - 0.4 for place in places], speeds, width, label=name)
    for place, row in enumerate(rows):
        if row.limit:
            axes.hlines(row.cell.flops / row.limit / 1e9, place - 0.4, place + 0.4, colors="black", linestyles="dotted")
    axes.set_xticks(range(len(rows)), [row.cell.describe().replace(" ", "\n") for row in rows], fontsize=7)
    axes.set_ylabel("GFLOP/s (dotted: the machine's limit)")
    facts = machine()
    axes.set_title(
        f"{facts['cpu']}, {facts['instruction set']}, {threads} thread{'s' if threads > 1 else ''}", fontsize=9
    )
    axes.legend(fontsize=8)
    with open_for_replace(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:].lower())
