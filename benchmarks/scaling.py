"""Compare the training speed of two processes and one: DataParallel on a GRU of hidden size 256, 64 sequences per process.

    python benchmarks/scaling.py [--steps 20] [--hidden 256] [--batch 64] [--json FILE]

Weak scaling: each process has one thread and its own batch, so twice the processes do twice the work. The program first checks
that two processes have the same gradients as one on the whole batch. It then measures the median time of a training step
(forward, backward, optimizer) over `--steps`, after as many warm-up steps, for one process and for two in turns. The best of
`--rounds` counts, since a busy machine slows two processes more than one. The factor is the ratio of sequences per second.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import torch
import torch.distributed as dist
from torch import nn

import anygru
from anygru import parallel

INPUT = 128
LENGTH = 64


class Model(nn.Module):
    """A GRU and a head, the same on every process."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.gru = anygru.GRU(INPUT, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        _, last = self.gru(inputs)
        return self.head(last[-1])


def batch(size: int) -> torch.Tensor:
    return torch.randn(LENGTH, size, INPUT, generator=torch.Generator().manual_seed(1))


def gradients(hidden: int, size: int) -> list[torch.Tensor]:
    """Return the gradients of the mean loss over a batch; each process computes its columns."""
    world = parallel.start()
    model = Model(hidden)
    share = batch(size)[:, world.rank :: world.size]
    distributed = parallel.DataParallel(model)
    distributed(share).square().mean().backward()
    return [parameter.grad for parameter in model.parameters()]


def step_times(hidden: int, size: int, steps: int) -> list[float]:
    """Return the seconds of each training step on the slowest process."""
    torch.set_num_threads(1)
    world = parallel.start()
    model = Model(hidden)
    distributed = parallel.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = batch(size)
    times = []
    for _ in range(2 * steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        distributed(inputs).square().mean().backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    slowest = torch.tensor(times[steps:])
    if world.size > 1:
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.tolist()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64, help="sequences a process")
    parser.add_argument("--json", metavar="FILE", help="also write the results there")
    args = parser.parse_args()

    alone = gradients(args.hidden, 8)
    workers = parallel.spawn(gradients, (args.hidden, 8), nprocs=2)
    for rank in range(2):
        for mine, theirs in zip(alone, workers.result(rank), strict=True):
            torch.testing.assert_close(theirs, mine, rtol=1e-4, atol=1e-6)
    print("two processes give the gradients of one")

    medians = {1: float("inf"), 2: float("inf")}
    for processes in (1, 2) * args.rounds:
        times = parallel.spawn(step_times, (args.hidden, args.batch, args.steps), nprocs=processes).result(0)
        medians[processes] = min(medians[processes], statistics.median(times))
    for processes in medians:
        rate = processes * args.batch / medians[processes]
        name = "1 process:  " if processes == 1 else f"{processes} processes:"
        print(f"{name} {medians[processes] * 1000:8.2f} ms a step, {rate:9.0f} sequences/s")
    factor = 2 * medians[1] / medians[2]
    print(f"scaling from 1 to 2 processes: {factor:.2f}")
    facts = {
        "hidden": args.hidden,
        "batch a process": args.batch,
        "input": INPUT,
        "length": LENGTH,
        "threads a process": 1,
        "ms a step": {str(key): round(value * 1000, 3) for key, value in medians.items()},
        "factor": round(factor, 3),
        "cores": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "anygru": anygru.__version__,
    }
    if args.json:
        with open(args.json, "w") as file:
            json.dump(facts, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
