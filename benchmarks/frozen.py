"""Compare frozen layers with their peers, including torch's int8 layer and OpenVINO at both precisions.

    python benchmarks/frozen.py [--threads 1 2] [--peer openvino=PYTHON] [--only TEXT]

Writes `frozen_THREADS.md` into `results` or --out. Runs take turns; a ratio is a ratio of medians.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench import peers, run
from run import SIZES
from side_by_side.measure import Cell
from side_by_side.report import machine

FLOAT_PEERS = ("torch", "onnxruntime", "openvino")


class Target(NamedTuple):
    weights: str
    cells: list[Cell]
    rivals: tuple[str, ...]
    """The fastest of these is compared with."""
    least: float


def cells(weights: str, *sizes: tuple[int, int, int, int], stream: bool = False) -> list[Cell]:
    return [Cell(*size, frozen=weights, stream=stream) for size in sizes]


ONE = tuple(size for size in SIZES if size[1] == 1)
MANY = tuple(size for size in SIZES if size[1] > 1)
LARGE = tuple(size for size in ONE if size[3] >= 512)
MIDDLE = tuple(size for size in ONE if size[3] >= 256 and size[0] > 1)
STEPS = ((1, 1, 128, 256), (1, 1, 512, 512))

TARGETS = [
    Target("float32", cells("float32", *ONE), FLOAT_PEERS, 1.25),
    Target("float32", cells("float32", *MANY), FLOAT_PEERS, 1.1),
    Target("bfloat16", cells("bfloat16", *LARGE), FLOAT_PEERS, 1.7),
    Target("bfloat16", cells("bfloat16", *MANY), ("openvino_default",), 1.1),
    Target("int8", cells("int8", *MIDDLE), FLOAT_PEERS, 3),
    Target("int8", cells("int8", *MIDDLE), ("torch_int8",), 1.5),
    Target("int8", cells("int8", *MANY), ("torch_int8",), 2),
    Target("int8", cells("int8", *STEPS, stream=True), ("onnxruntime",), 4),
    Target("bfloat16_rows", cells("bfloat16_rows", *MANY), ("openvino_default",), 1.1),
]


def rows(target: Target, found: dict[str, str], args: argparse.Namespace, threads: int) -> Iterator[str]:
    """Return the lines of the table for one target."""
    chosen = {name: found[name] for name in ("anygru", *target.rivals) if name in found}
    for cell in target.cells:
        (row,) = run([cell], chosen, threads, args.rounds, args.seconds)
        own = row.timed["anygru"].median
        rivals = {name: timing.median for name, timing in row.timed.items() if name != "anygru"}
        if not rivals:
            continue
        fastest = min(rivals, key=lambda name: rivals[name])
        ratio = rivals[fastest] / own
        yield (
            f"| {cell.describe()} | {own * 1e3:.3f} | {fastest} | {rivals[fastest] * 1e3:.3f} | {ratio:.2f} "
            f"| {target.least:g} | {'yes' if ratio >= target.least else 'no'} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--only", type=int, nargs="*", metavar="N", help="numbers of targets, the first is 0")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    args = parser.parse_args()
    found = peers(args.peer, ("anygru", "torch", "torch_int8", "onnxruntime", "openvino", "openvino_default"))
    chosen = [TARGETS[number] for number in args.only] if args.only else TARGETS
    for threads in args.threads:
        lines = [line for target in chosen for line in rows(target, found, args, threads)]
        facts = "\n".join(f"- {key}: {value}" for key, value in machine().items())
        heading = ["| cell | anygru, ms | fastest rival | ms | ratio | at least | met |"]
        heading.append("| --- | ---: | --- | ---: | ---: | ---: | --- |")
        text = "\n".join((f"# Frozen layers, threads: {threads}", "", facts, "", *heading, *lines)) + "\n"
        (args.out / f"frozen_{threads}.md").write_text(text)


if __name__ == "__main__":
    main()
