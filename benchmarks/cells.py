"""Time loops over a GRUCell, as in decoders: torch's cell, the same cell accelerated, and anygru's.

    python benchmarks/cells.py [--threads 1] [--seconds 1] [--json FILE]

Ten steps without gradients, and ten steps with a loss and its backward pass. The implementations take turns after each call, so
that changes of the machine's speed affect all of them. Prints a Markdown table with microseconds per loop (minima) and ratios
to torch (medians of the ratios of neighbouring calls).
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

import anygru

STEPS = 10
BATCHES = (1, 4, 16, 32, 64, 300)
HIDDEN = (16, 32, 64, 128, 256)
NAMES = ("torch", "accelerated", "anygru")


def loops(name: str, batch: int, hidden: int) -> dict[str, Callable[[], object]]:
    """Return the two loops over a cell with an input of the hidden size."""
    if name == "anygru":
        cell = anygru.GRUCell(hidden, hidden)
    else:
        cell = torch.nn.GRUCell(hidden, hidden)
        if name == "accelerated":
            anygru.accelerate(cell)
    inputs, first = torch.randn(STEPS, batch, hidden), torch.zeros(batch, hidden)

    def steps() -> torch.Tensor:
        state = first
        for input in inputs:
            state = cell(input, state)
        return state

    def training() -> None:
        cell.zero_grad()
        steps().sum().backward()

    @torch.no_grad()
    def inference() -> None:
        steps()

    return {"inference": inference, "training": training}


def measure(seconds: float, cells: list[tuple[int, int]], works: list[str]) -> list[dict]:
    rows = []
    for work in works:
        for batch, hidden in cells:
            calls = {name: loops(name, batch, hidden)[work] for name in NAMES}
            times: dict[str, list[float]] = {name: [] for name in NAMES}
            for call in (*calls.values(), *calls.values()):
                call()
            end = time.perf_counter() + seconds
            while len(times["torch"]) < 10 or time.perf_counter() < end:
                for name, call in calls.items():
                    start = time.perf_counter()
                    call()
                    times[name].append(time.perf_counter() - start)
            row = {"work": work, "batch": batch, "hidden": hidden}
            row |= {name: round(min(own) * 1e6, 1) for name, own in times.items()}
            for name in NAMES[1:]:
                ratios = [torchs / own for torchs, own in zip(times["torch"], times[name], strict=True)]
                row[f"{name}_ratio"] = round(statistics.median(ratios), 3)
            rows.append(row)
    return rows


def table(rows: list[dict]) -> str:
    lines = ["| work, B, H | torch | accelerated | ratio | anygru.GRUCell | ratio |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        lines.append(
            f"| {row['work']}, {row['batch']}, {row['hidden']} | {row['torch']:.0f} | {row['accelerated']:.0f} | "
            f"{row['accelerated_ratio']:.2f} | {row['anygru']:.0f} | {row['anygru_ratio']:.2f} |"
        )
    for work in dict.fromkeys(row["work"] for row in rows):
        for name in NAMES[1:]:
            logs = [math.log(row[f"{name}_ratio"]) for row in rows if row["work"] == work]
            lines.append(
                f"\n{work}, {name}: geometric mean {math.exp(statistics.mean(logs)):.2f}, "
                f"least {math.exp(min(logs)):.2f}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each cell and work")
    parser.add_argument("--work", nargs="+", default=["inference", "training"])
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--hidden", type=int, nargs="+", default=HIDDEN)
    parser.add_argument("--json", type=Path, help="also write the rows here")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    cells = [(batch, hidden) for batch in args.batch for hidden in args.hidden]
    rows = measure(args.seconds, cells, args.work)
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
