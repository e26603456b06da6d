"""Measure the whole grid with all given peers; write tables and times into `benchmarks/results`.

    python benchmarks/run.py --threads 1 2 --peer paddle=PYTHON --peer mxnet=PYTHON --peer oneflow=PYTHON --peer chainer=PYTHON

Each PYTHON is an interpreter with the framework. `--only N ...` measures the cells with these numbers of `--list` and keeps the
results of other cells.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

from bench import peers, run
from side_by_side.measure import Cell
from side_by_side.report import Row, machine, read_json, write_json

SIZES = [
    (1, 1, 128, 256),
    (100, 1, 64, 64),
    (100, 1, 128, 256),
    (100, 1, 512, 512),
    (100, 1, 512, 1024),
    (100, 16, 128, 128),
    (100, 32, 256, 256),
    (100, 64, 512, 512),
    (1000, 1, 64, 128),
    (1000, 32, 64, 128),
]
"""(steps, batch, input size, hidden size)"""

DEEP = (1, 2, 6, 9)
"""Indices of the sizes that also run with two layers and with two directions."""

SLOW_PEERS = ("chainer", "oneflow")
"""Omitted in cells with more rows than this, where a call takes seconds."""
SLOW_ROWS = 5000


def grid(train: bool) -> list[Cell]:
    """Return the cells of the grid; the ragged batch is last."""
    cells = [Cell(*size, train=train) for size in SIZES]
    cells += [replace(cells[number], layers=2) for number in DEEP]
    cells += [replace(cells[number], bidirectional=True) for number in DEEP]
    lengths = sorted((random.Random(0).randint(1, 200) for _ in range(64)), reverse=True)
    return [*cells, Cell(lengths[0], 64, 128, 128, train=train, lengths=tuple(lengths))]


def streams() -> list[Cell]:
    """Return cells of one step of one sequence; the state is kept between calls."""
    return [Cell(1, 1, size, hidden, stream=True) for size, hidden in ((64, 64), (128, 128), (128, 256), (512, 512))]


def table(rows: list[Row], threads: int) -> str:
    """Return a Markdown table: milliseconds of each implementation, and the ratio of the fastest peer to anygru."""
    names = list(dict.fromkeys(name for row in rows for name in row.results))
    lines = [f"Milliseconds a call, {threads} thread{'s' if threads > 1 else ''}.", ""]
    heading = ["cell", *names, "fastest peer / anygru", "torch / anygru", "share of the limit"]
    lines += ["| " + " | ".join(heading) + " |", "| --- |" + " ---: |" * (len(heading) - 1)]
    for row in rows:
        timed = row.timed
        cells = [f"{timed[name].median * 1e3:.3f}" if name in timed else "" for name in names]
        own = timed["anygru"].median
        torch_ratio = f"{timed['torch'].median / own:.2f}" if "torch" in timed else ""
        share = f"{100 * row.limit / own:.0f} %" if row.limit else ""
        ratio = f"{row.ratio:.2f}" if row.ratio else ""
        lines.append("| " + " | ".join((row.cell.describe(), *cells, ratio, torch_ratio, share)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    works = ("inference", "training", "streaming")
    parser.add_argument("--work", nargs="+", choices=works, default=works)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", type=int, nargs="*", metavar="N", help="numbers of cells")
    parser.add_argument("--list", action="store_true", help="show the cells and their numbers")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{number:3} {cell.describe()}" for number, cell in enumerate(grid(False))))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    found = peers(args.peer)
    for work in args.work:
        cells = streams() if work == "streaming" else grid(work == "training")
        chosen = [cells[number] for number in args.only] if args.only else cells
        for threads in args.threads:
            rows = []
            for cell in chosen:
                own = {
                    name: python for name, python in found.items() if name not in SLOW_PEERS or cell.rows <= SLOW_ROWS
                }
                rows += run([cell], own, threads, args.rounds, args.seconds)
            name = f"{work}_{threads}"
            if args.only and (args.out / f"{name}.json").exists():  # keep the other cells
                new = [row.cell for row in rows]
                rows += [row for row in read_json(args.out / f"{name}.json") if row.cell not in new]
                rows.sort(key=lambda row: cells.index(row.cell))
            facts = "\n".join(f"- {key}: {value}" for key, value in machine().items())
            (args.out / f"{name}.md").write_text(f"# {work.capitalize()}\n\n{facts}\n\n{table(rows, threads)}")
            write_json(args.out / f"{name}.json", rows, threads)
    print(json.dumps(machine()))


if __name__ == "__main__":
    main()
