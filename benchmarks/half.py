"""Compare bfloat16, float16, autocast and int8 with their peers, mainly on machines with matrix units.

    python benchmarks/half.py --out benchmarks/results/MACHINE [--peer NAME=PYTHON ...]

The peers outside anygru's environment are jax, openvino (float32) and openvino_default.
Writes `half_inference_THREADS.md` and `half_training_THREADS.md`, and all times as JSON. OpenVINO also needs `onnx`.
Missing peers are omitted, and torch's float16 on CPUs without units for it, where a call would take seconds.
Runs take turns; a ratio is a ratio of medians. The files are written after each cell.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from bench import peers, run
from run import SIZES
from side_by_side.measure import HALF_MODULES, OF_HALF_WORKER, OURS_ROUNDED, Cell
from side_by_side.report import Row, machine, write_json

from anygru.backends.products import units


class Rivals(NamedTuple):
    """The peers of one of our variants; the fastest is compared."""

    ours: str
    theirs: tuple[str, ...]


FLOATS = tuple(Rivals(name, ("torch", "jax", "openvino")) for name in ("anygru", "anygru_high"))
HALVES = tuple(Rivals(f"anygru_{name}", (f"torch_{name}",)) for name in HALF_MODULES)
FROZEN = (
    Rivals("anygru_frozen_bfloat16", ("openvino_default", "torch_bfloat16")),
    Rivals("anygru_int8", ("openvino_default", "torch_bfloat16", "torch_int8")),
)
SLOW_PEERS = ("torch_float16", "torch_autocast_float16")
SLOW_FLOPS = 2.6e9
"""Omitted in cells with more operations than this."""
WORKS = {"inference": (*FLOATS, *HALVES, *FROZEN), "training": (*FLOATS, *HALVES)}


def table(rows: Sequence[Row], pairs: Sequence[Rivals]) -> list[str]:
    """Return Markdown: all milliseconds, and the ratio of the fastest peer to each of our variants."""
    names = list(dict.fromkeys(name for row in rows for name in row.timed))
    shown = [pair for pair in pairs if pair.ours in names]
    heading = ["cell", *names, *(f"rivals / {pair.ours}" for pair in shown)]
    lines = ["| " + " | ".join(heading) + " |", "| --- |" + " ---: |" * (len(heading) - 1)]
    for row in rows:
        times = {name: timing.median * 1e3 for name, timing in row.timed.items()}
        cells = [f"{times[name]:.3f}" if name in times else "" for name in names]
        for pair in shown:
            rivals = [times[name] for name in pair.theirs if name in times]
            cells.append(f"{min(rivals) / times[pair.ours]:.2f}" if rivals and pair.ours in times else "")
        lines.append("| " + " | ".join((row.cell.describe(), *cells)) + " |")
    return lines


def measure(work: str, threads: int, args: argparse.Namespace, found: dict[str, str]) -> None:
    pairs = WORKS[work]
    named = {name for pair in pairs for name in (pair.ours, *pair.theirs)}
    chosen = {name: python for name, python in found.items() if name in named}
    fast = {name: python for name, python in chosen.items() if name not in SLOW_PEERS or units(torch.float16)}
    sizes = [SIZES[number] for number in args.only] if args.only else SIZES
    rows: list[Row] = []
    for size in sizes:
        cell = Cell(*size, train=work == "training")
        own = chosen if cell.flops <= SLOW_FLOPS else fast
        rows += run([cell], own, threads, args.rounds, args.seconds)
        facts = "\n".join(f"- {key}: {value}" for key, value in machine().items())
        words = f"# Half precision and int8, {work}, threads: {threads}\n\n{facts}\n\nMilliseconds a call."
        text = "\n".join((words, "", *table(rows, pairs))) + "\n"
        (args.out / f"half_{work}_{threads}.md").write_text(text)
        write_json(args.out / f"half_{work}_{threads}.json", rows, threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--work", nargs="+", choices=tuple(WORKS), default=tuple(WORKS))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument(
        "--only", type=int, nargs="*", metavar="N", help="numbers of the sizes in run.py, the first is 0"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    args = parser.parse_args()
    usual = ("anygru", *OURS_ROUNDED, "torch", *(name for name in OF_HALF_WORKER if name not in (*OURS_ROUNDED, "jax")))
    found = peers(args.peer, usual)
    args.out.mkdir(parents=True, exist_ok=True)
    for work in args.work:
        for threads in args.threads:
            measure(work, threads, args, found)


if __name__ == "__main__":
    main()
