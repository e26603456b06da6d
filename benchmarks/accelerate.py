"""Compare torch's layers, unchanged and under `anygru.accelerate`, in two processes that take turns.

    python benchmarks/accelerate.py

Prints medians in microseconds, one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch

SIZES = ((20, 8, 64, 64), (50, 32, 128, 256), (1, 1, 8, 8))
"""(steps, batch, input size, hidden size)"""
TURNS = 9


def median(call: Callable[[], object], total: float = 0.3) -> float:
    """Return the median microseconds of a call, measured for about `total` seconds."""
    times: list[float] = []
    call()
    end = time.perf_counter() + total
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def layer(steps: int, batch: int, input_size: int, hidden_size: int) -> tuple[float, float]:
    """Forward without gradients; forward and backward."""
    gru, input = torch.nn.GRU(input_size, hidden_size), torch.randn(steps, batch, input_size)

    def train() -> None:
        gru.zero_grad()
        gru(input)[0].sum().backward()

    with torch.no_grad():
        forward = median(lambda: gru(input))
    return forward, median(train)


def cell() -> float:
    gru, input, h = torch.nn.GRUCell(64, 64), torch.randn(1, 64), torch.zeros(1, 64)
    with torch.no_grad():
        return median(lambda: gru(input, h))


def serve(accelerated: bool) -> None:
    """Print a line of times for each line of standard input."""
    torch.set_num_threads(1)
    if accelerated:
        import anygru

        anygru.accelerate()
    for _ in sys.stdin:
        print(json.dumps([*(time for size in SIZES for time in layer(*size)), cell()]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("side", nargs="?", choices=("torch", "anygru"), help=argparse.SUPPRESS)
    side = parser.parse_args().side
    if side:
        return serve(side == "anygru")
    workers = {
        name: subprocess.Popen(
            [sys.executable, __file__, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        for name in ("torch", "anygru")
    }
    results: dict[str, list[list[float]]] = {name: [] for name in workers}
    for _ in range(TURNS):
        for name, worker in workers.items():
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write("\n")
            results[name].append(json.loads(worker.stdout.readline()))
    for worker in workers.values():
        worker.communicate()
    torch_times, own = (
        [statistics.median(values) for values in zip(*turns, strict=True)] for turns in results.values()
    )
    print("| T, B, I, H | forward: torch | anygru | forward and backward: torch | anygru |\n|---|---|---|---|---|")
    for number, size in enumerate(SIZES):
        cells = [f"{times[2 * number + kind]:.0f}" for kind in (0, 1) for times in (torch_times, own)]
        print(f"| {', '.join(map(str, size))} | " + " | ".join(cells) + " |")
    print(f"| `GRUCell` 1, 64, 64 | {torch_times[-1]:.0f} | {own[-1]:.0f} | | |")


if __name__ == "__main__":
    main()
