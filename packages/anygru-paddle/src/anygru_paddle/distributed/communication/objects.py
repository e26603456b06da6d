"""The collectives for arbitrary picklable objects. The processes must trust each other: they exchange pickles."""

from typing import Any

import torch.distributed as dist

from .group import Group, resolve


def all_gather_object(object_list: list[Any], obj: Any, group: Group | None = None) -> None:
    """Append the object of every process, in the order of ranks."""
    members = resolve(group)
    if members is None:
        return
    gathered: list[Any] = [None] * members.nranks
    dist.all_gather_object(gathered, obj, group=members.process_group)
    object_list.extend(gathered)


def broadcast_object_list(object_list: list[Any], src: int, group: Group | None = None) -> None:
    """Overwrite the list's objects with the objects of process `src`."""
    members = resolve(group)
    if members is not None:
        dist.broadcast_object_list(object_list, src, group=members.process_group)


def scatter_object_list(
    out_object_list: list[Any], in_object_list: list[Any] | None = None, src: int = 0, group: Group | None = None
) -> None:
    """Put into `out_object_list` this process's object of the list that process `src` gives."""
    members = resolve(group)
    if members is None:
        return
    if dist.get_rank() == src and (in_object_list is None or len(in_object_list) != members.nranks):
        raise RuntimeError(f"The in_object_list must have {members.nranks} objects on src rank.")
    received: list[Any] = [None]
    dist.scatter_object_list(received, in_object_list, src, group=members.process_group)
    out_object_list[:] = received
