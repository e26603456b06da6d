"""The programs that the processes of test_lines.py run; they import no test."""

import torch.distributed as dist

from anygru import parallel
from anygru_oneflow.processes import lines


def exchange(rank_that_ends: int | None = None, machine: str | None = None) -> list[object]:
    """The numbers that three processes exchange, or the error of a process with a peer that has ended or is silent."""
    rank = parallel.start().rank
    if machine is not None:
        lines._machine = lambda: machine.format(rank)
    found = lines.lines_of(dist.group.WORLD)
    if found is None:
        return [None]
    told = [found.exchange([rank] * rank), found.exchange(range(rank, 70 + rank))[2][:2]]
    if rank == rank_that_ends:
        return told
    try:
        found.exchange([0])
    except RuntimeError as error:
        told.append(str(error))
    return told


def connect(rank_that_does_not: int) -> str | None:
    """The error of a process that waits for another, which gave its name and does not connect."""
    rank = parallel.start().rank
    if rank == rank_that_does_not:
        dist.all_gather_object([None] * 2, (lines._machine(), b"\0nobody"))
        return None
    lines.torch_private.timeout_of = lambda group: 1
    try:
        lines.lines_of(dist.group.WORLD)
    except RuntimeError as error:
        return str(error)
    return "no error"
