"""Measure the limits of calls with few rows on this machine: reading the weights, and the overhead of a call.

    python benchmarks/limits.py [FOLDER]

Writes `limits.md` into FOLDER or `results`: the speed at which one thread repeatedly reads arrays of several sizes, and the
time of single steps (plain calls and streams) with the time to read their weights. Times are minima, which vary least on a
machine of changing speed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from side_by_side.report import machine

import anygru
from anygru import _native

KIBIBYTES = (48, 192, 768, 1152, 3072, 6144, 12288, 24576)
SINGLE_STEPS = ((16, 16), (64, 64), (128, 128), (128, 256), (512, 512), (512, 1024))
"""(input size, hidden size)"""


def seconds(call: Callable[[], object], total: float = 1.5) -> float:
    """Return the minimum over about `total` seconds of calls."""
    call()
    times: list[float] = []
    end = time.perf_counter() + total
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def reading(size: int) -> float:
    """Return the seconds to read `size` bytes again from the caches."""
    values = torch.ones(size // 4)
    return seconds(lambda: _native.sum_float32((values.data_ptr(), values.nbytes), values.numel()))


def single_step(input_size: int, hidden_size: int, stream: bool) -> float:
    layer = anygru.GRU(input_size, hidden_size).eval()
    with torch.inference_mode():
        if stream:
            flow, step = layer.stream(), torch.randn(input_size)
            return seconds(lambda: flow.step(step))
        input, h_0 = torch.randn(1, 1, input_size), torch.zeros(1, 1, hidden_size)
        return seconds(lambda: layer(input, h_0))


def table() -> str:
    lines = ["| array | GB/s, one thread |", "| ---: | ---: |"]
    for kibibytes in KIBIBYTES:
        lines.append(f"| {kibibytes} KiB | {kibibytes * 1024 / reading(kibibytes * 1024) / 1e9:.1f} |")
    lines += [
        "",
        "Microseconds a single step of one sequence, one thread; the smallest layer shows what the call takes.",
        "",
    ]
    lines += ["| I | H | weights | reading them | plain call | stream |", "| ---: |" + " ---: |" * 5]
    for input_size, hidden_size in SINGLE_STEPS:
        size = 4 * 3 * hidden_size * (input_size + hidden_size)
        times = [reading(size), *(single_step(input_size, hidden_size, stream) for stream in (False, True))]
        cells = " | ".join(f"{taken * 1e6:.1f}" for taken in times)
        lines.append(f"| {input_size} | {hidden_size} | {size / 1024:.0f} KiB | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).with_name("results"))
    folder = parser.parse_args().folder
    torch.set_num_threads(1)
    facts = "\n".join(f"- {key}: {value}" for key, value in machine().items())
    result = f"# Limits of calls of few rows\n\n{facts}\n\n{table()}"
    (folder / "limits.md").write_text(result)
    print(result)


if __name__ == "__main__":
    main()
