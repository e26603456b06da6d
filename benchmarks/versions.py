"""Compare two installations of anygru, or an installation with torch's GRU, on the same cells in processes that take turns.

    python benchmarks/versions.py BEFORE_PYTHON AFTER_PYTHON --most 1.10
    python benchmarks/versions.py PYTHON
    python benchmarks/versions.py PYTHON PYTHON --table benchmarks/results/versions.md

The arguments are interpreters with anygru. The exit status is 1 if a cell of AFTER takes more than `--most` times as long as
the same cell of BEFORE: CI runs this against the last release. With one interpreter BEFORE is `torch.nn.GRU` of its torch. A
table has a column for each interpreter: the GRU of its torch beside anygru.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CELLS = [
    (1, 1, 128, 256, False),
    (100, 1, 64, 64, False),
    (100, 16, 128, 128, False),
    (100, 32, 256, 256, False),
    (100, 1, 64, 64, True),
    (100, 16, 128, 128, True),
]
"""(steps, batch, input size, hidden size, whether to train)"""

WORKER = """
import importlib, sys, time
layers = importlib.import_module(sys.argv[1])
steps, batch, size, hidden, train, threads, seconds = map(float, sys.argv[2:])
import torch
torch.set_num_threads(int(threads))
torch.manual_seed(0)
layer = layers.GRU(int(size), int(hidden))
x = torch.randn(int(steps), int(batch), int(size))
def call():
    if not train:
        with torch.no_grad():
            return layer(x)
    layer.zero_grad(set_to_none=True)
    layer(x)[0].sum().backward()
call()
for line in sys.stdin:
    end, times = time.perf_counter() + seconds, []
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    print(sorted(times)[len(times) // 2], flush=True)
"""


@contextlib.contextmanager
def worker(python: str, layers: str, cell: tuple[object, ...]) -> Iterator[subprocess.Popen[str]]:
    """Start a process that answers each line with the median seconds of a call.

    `layers` is the module of the GRU.
    """
    command = [python, "-c", WORKER, layers, *(str(float(value)) for value in cell)]  # type: ignore[arg-type]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def measured(process: subprocess.Popen[str]) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(pythons: list[str], cell: tuple[object, ...], rounds: int) -> tuple[float, float]:
    """Return the median seconds of a call before and after."""
    first = "anygru" if len(pythons) == 2 else "torch.nn"
    with worker(pythons[0], first, cell) as before, worker(pythons[-1], "anygru", cell) as after:
        turns = [(measured(before), measured(after)) for _ in range(rounds)]
    return statistics.median(turn[0] for turn in turns), statistics.median(turn[1] for turn in turns)


def write_table(path: Path, pythons: list[str], options: argparse.Namespace) -> None:
    """Write a row per cell and a column per interpreter: the time of torch's GRU divided by anygru's."""
    version = "import torch; print(torch.__version__.partition('+')[0])"
    names = [subprocess.run([each, "-c", version], check=True, capture_output=True, text=True) for each in pythons]
    lines = [f"| (T, B, I, H) | {' | '.join(f'torch {each.stdout.strip()}' for each in names)} |"]
    lines.append("| --- |" + " ---: |" * len(pythons))
    for cell in CELLS:
        turns = [compare([python], (*cell, options.threads, options.seconds), options.rounds) for python in pythons]
        ratios = (f"{before / after:.2f}" for before, after in turns)
        lines.append(f"| {words(cell)} | {' | '.join(ratios)} |")
    from side_by_side.report import machine

    head = (
        "# anygru beside the GRU of each torch\n\n"
        "Time of `torch.nn.GRU` over that of `anygru.GRU`, float32, by `benchmarks/versions.py`: medians of "
        f"{options.rounds} turns\nof {options.seconds} s, each in a process of its own, {options.threads} thread"
        f"{'s' if options.threads > 1 else ''}. {machine()['cpu']}.\n\n"
    )
    path.write_text(head + "\n".join(lines) + "\n")


def words(cell: tuple[object, ...]) -> str:
    return f"{cell[:4]} {'training' if cell[4] else 'inference'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument(
        "--most", type=float, default=1.10, help="ratio after / before that is still good (default: 1.10)"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a turn")
    parser.add_argument(
        "--table", type=Path, help="compare each interpreter with its own torch, and write a table here"
    )
    options = parser.parse_args()
    if options.table:
        write_table(options.table, options.pythons, options)
        return 0
    if len(options.pythons) > 2:
        parser.error("give one interpreter, or two to compare")
    for python in options.pythons:
        program = "import anygru, torch; print(f'anygru {anygru.__version__} with torch {torch.__version__}')"
        subprocess.run([python, "-c", program], check=True)
    slower = []
    for cell in CELLS:
        before, after = compare(options.pythons, (*cell, options.threads, options.seconds), options.rounds)
        print(f"{words(cell):36} {1e3 * before:9.4f} ms {1e3 * after:9.4f} ms  {after / before:.3f}", flush=True)
        if after > options.most * before:
            slower.append(words(cell))
    print(f"slower than {options.most:g}: {', '.join(slower) or 'none'}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
