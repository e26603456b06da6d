"""Measure CPU time and bytes of a step of data-parallel training in four notations.

    python benchmarks/global_tensors.py [--steps 30] [--turns 8] [--processes 2]

- torch DDP: `torch.nn.parallel.DistributedDataParallel` with torch's GRU;
- OneFlow DDP: the OneFlow dialect's `nn.parallel.DistributedDataParallel`;
- global tensors: the dialect's model with weights of `broadcast` and a batch of `split(0)`;
- global tensors alike: the same with `check_meta=False`, so that the processes do not exchange the sizes of their shards.

Each variant runs in its own processes with one thread each. The variants take turns of `--steps` steps while the others sleep, so
that other load of the machine affects all of them. The time is the CPU time of a process (`time.process_time`): it includes the
process's share of the communication and excludes waiting. The bytes are all bytes sent over the loopback interface in a step, in
a network namespace if the system allows it, and are printed with the bytes of the parameters.
"""

import argparse
import ctypes
import fcntl
import multiprocessing
import os
import socket
import statistics
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAYS = ("torch DDP", "OneFlow DDP", "global tensors", "global tensors alike")
NEW_NETWORK = 0x40000000
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41

SIZES = {"small": (64, 16, 20), "large": (256, 32, 40)}
"""Hidden units, sequences of each process, and steps of a sequence."""
WORDS = 200


def own_network() -> bool:
    """Move this process and its children into a network with only a loopback interface; return whether that worked."""
    if ctypes.CDLL(None).unshare(NEW_NETWORK):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))
    return True


def sent() -> int:
    """Return the bytes that all processes of this network have sent over the loopback interface."""
    line = next(line for line in Path("/proc/self/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split()[9])


def of_torch(hidden: int) -> tuple[Any, Any, Callable[[Any, Any], Any], Callable[[Any], Any]]:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(WORDS, hidden)
            self.gru = torch.nn.GRU(hidden, hidden, batch_first=True)
            self.head = torch.nn.Linear(hidden, WORDS)

        def forward(self, x: Any) -> Any:
            return self.head(self.gru(self.words(x))[0])

    model = DistributedDataParallel(Model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.nn.functional.cross_entropy
    return model, optimizer, lambda y, t: loss(y.reshape(-1, WORDS), t.reshape(-1)), torch.tensor


def of_oneflow(
    hidden: int, is_global: bool, checked: bool
) -> tuple[Any, Any, Callable[[Any, Any], Any], Callable[[Any], Any]]:
    import anygru_oneflow as flow

    class Model(flow.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = flow.nn.Embedding(WORDS, hidden)
            self.gru = flow.nn.GRU(hidden, hidden, batch_first=True)
            self.head = flow.nn.Linear(hidden, WORDS)

        def forward(self, x: Any) -> Any:
            return self.head(self.gru(self.words(x))[0])

    model: Any = Model()
    put: Callable[[Any], Any] = flow.tensor
    if is_global:
        everyone = flow.placement.all("cpu")
        model = model.to_global(everyone, flow.sbp.broadcast)
        put = lambda values: flow.tensor(values).to_global(everyone, flow.sbp.split(0), check_meta=checked)  # noqa: E731
    else:
        model = flow.nn.parallel.DistributedDataParallel(model)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    loss = flow.nn.functional.cross_entropy
    return model, optimizer, lambda y, t: loss(y.reshape(-1, WORDS), t.reshape(-1)), put


def train(way: str, size: str, steps: int, turns: int, meeting: Any) -> dict[str, Any]:
    """Train on one process; report CPU seconds and bytes of each step.

    Args:
        meeting: a barrier for the processes of all variants at the end of each turn.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    import numpy as np
    import torch

    from anygru import parallel

    torch.set_num_threads(1)
    place = parallel.start()
    torch.manual_seed(0)
    hidden, batch, length = SIZES[size]
    model, optimizer, criterion, put = (
        of_torch(hidden) if way == WAYS[0] else of_oneflow(hidden, way in WAYS[2:], checked=way != WAYS[3])
    )
    draw = np.random.default_rng(place.rank)
    values = draw.integers(0, WORDS, (batch, length + 1))
    seconds, bytes_sent, losses = [], [], []

    def step() -> None:
        torch.distributed.barrier()
        begin, before = time.process_time(), sent()
        x, t = put(values[:, :-1].copy()), put(values[:, 1:].copy())
        loss = criterion(model(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - begin)
        torch.distributed.barrier()
        bytes_sent.append(sent() - before)
        losses.append(loss.detach().item())

    for _ in range(turns + 1):  # the first is a warm-up
        for other in WAYS:
            meeting.wait()
            for _ in range(steps if other == way else 0):
                step()
    parameters = sum(parameter.numel() * 4 for parameter in model.parameters())
    return {"seconds": seconds[steps:], "bytes": bytes_sent[steps:], "parameters": parameters, "last": losses[-1]}


def median_of_turns(seconds: list[float], steps: int) -> list[float]:
    return [statistics.median(seconds[begin : begin + steps]) for begin in range(0, len(seconds), steps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    alone = own_network()
    from anygru import parallel

    print(
        f"{arguments.processes} processes, one thread each; bytes {'alone on' if alone else 'with others on'} the interface"
    )
    print(
        "| size | way | CPU ms a step | of OneFlow DDP, median of turns (lowest to highest) | bytes / parameters | last loss |"
    )
    print("|---|---|---|---|---|---|")
    for size in arguments.sizes:
        meeting = multiprocessing.get_context("spawn").Barrier(len(WAYS) * arguments.processes)
        given = (size, arguments.steps, arguments.turns, meeting)
        groups = {way: parallel.spawn(train, (way, *given), nprocs=arguments.processes, join=False) for way in WAYS}
        times = {}
        for way, workers in groups.items():
            while not workers.join():
                pass
            found = [workers.result(rank) for rank in range(arguments.processes)]
            each = [median_of_turns(result["seconds"], arguments.steps) for result in found]
            times[way] = list(map(statistics.mean, zip(*each, strict=True)))
            share = statistics.median(found[0]["bytes"]) / found[0]["parameters"]
            times[way], groups[way] = times[way], (share, found[0]["last"])
        for way, (share, last) in groups.items():
            ratios = [mine / its for mine, its in zip(times[way], times["OneFlow DDP"], strict=True)]
            said = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"| {size} | {way} | {1e3 * statistics.median(times[way]):.2f} | {said} | {share:.2f} | {last:.4f} |")


if __name__ == "__main__":
    main()
