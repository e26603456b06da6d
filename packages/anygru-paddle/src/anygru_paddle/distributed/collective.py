"""New groups of processes."""

from datetime import timedelta
from typing import Any

import torch.distributed as dist

from .communication.group import Group, add_group, is_initialized
from .environment import place

_TIMEOUT = timedelta(seconds=1800)


def new_group(ranks: list[int] | None = None, backend: str | None = None, timeout: timedelta = _TIMEOUT) -> Group:
    """A group of some of the job's processes. Every process of the job calls it, in the same order.

    Args:
        ranks: the global ranks; None for all.
        backend: "gloo" or "nccl"; None for the global group's.
        timeout: how long a collective of the group waits.
    """
    here = place()
    members = sorted(range(here.size) if ranks is None else ranks)
    # As in Paddle, a group of one has no member: it has nothing to communicate.
    rank = members.index(here.rank) if here.rank in members and len(members) > 1 else -1
    if not is_initialized():
        return add_group(members, None, -1)
    process_group: Any = dist.new_group(members, timeout=timeout, backend=backend)
    if rank < 0:
        process_group = None
    return add_group(members, process_group, rank)


def is_available() -> bool:
    """Whether torch was built with torch.distributed."""
    return dist.is_available()
