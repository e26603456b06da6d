"""Loops over a GRUCell, as decoders have them: torch's cell, the same cell accelerated, and anygru's.

    python benchmarks/cells.py [--threads 1] [--rounds 5] [--seconds 0.05] [--json FILE]

Ten steps without gradients, and ten steps with a loss and its backward pass; one process for each implementation, in turns.
Prints a Markdown table of microseconds a loop, and the ratios to torch.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STEPS = 10
BATCHES = (1, 4, 16, 32, 64, 300)
HIDDEN = (16, 32, 64, 128, 256)
NAMES = ("torch", "accelerated", "anygru")


def loops(name: str, batch: int, hidden: int) -> dict[str, Callable[[], object]]:
    """The two loops over one cell, whose input is as wide as its state."""
    import torch

    if name == "anygru":
        import anygru

        cell = anygru.GRUCell(hidden, hidden)
    else:
        cell = torch.nn.GRUCell(hidden, hidden)
        if name == "accelerated":
            import anygru

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


def serve(name: str, threads: int) -> None:
    """One line of times, in seconds, for each line that asks for a piece."""
    import torch

    torch.set_num_threads(threads)
    made: dict[tuple[int, int], dict[str, Callable[[], object]]] = {}
    for line in sys.stdin:
        work, batch, hidden, seconds = json.loads(line)
        if (batch, hidden) not in made:
            made[batch, hidden] = loops(name, batch, hidden)
        call = made[batch, hidden][work]
        call()
        times, end = [], time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)


def measure(threads: int, rounds: int, seconds: float, cells: list[tuple[int, int]], works: list[str]) -> list[dict]:
    workers = {
        name: subprocess.Popen(
            [sys.executable, __file__, "--serve", name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for name in NAMES
    }
    rows = []
    for work in works:
        for batch, hidden in cells:
            times: dict[str, list[float]] = {name: [] for name in NAMES}
            for _ in range(rounds):
                for name, worker in workers.items():
                    assert worker.stdin is not None
                    assert worker.stdout is not None
                    worker.stdin.write(json.dumps([work, batch, hidden, seconds]) + "\n")
                    times[name].append(statistics.median(json.loads(worker.stdout.readline())))
            found = {name: statistics.median(own) * 1e6 for name, own in times.items()}
            rows.append({"work": work, "batch": batch, "hidden": hidden, **found})
    for worker in workers.values():
        worker.communicate()
    return rows


def table(rows: list[dict]) -> str:
    lines = ["| work, B, H | torch | accelerated | ratio | anygru.GRUCell | ratio |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        ratios = [row["torch"] / row[name] for name in NAMES[1:]]
        lines.append(
            f"| {row['work']}, {row['batch']}, {row['hidden']} | {row['torch']:.0f} | {row['accelerated']:.0f} | "
            f"{ratios[0]:.2f} | {row['anygru']:.0f} | {ratios[1]:.2f} |"
        )
    for work in dict.fromkeys(row["work"] for row in rows):
        for name in NAMES[1:]:
            logs = [math.log(row["torch"] / row[name]) for row in rows if row["work"] == work]
            lines.append(
                f"\n{work}, {name}: geometric mean {math.exp(statistics.mean(logs)):.2f}, "
                f"least {math.exp(min(logs)):.2f}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--work", nargs="+", default=["inference", "training"])
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--hidden", type=int, nargs="+", default=HIDDEN)
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve, args.threads)
    cells = [(batch, hidden) for batch in args.batch for hidden in args.hidden]
    rows = measure(args.threads, args.rounds, args.seconds, cells, args.work)
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
