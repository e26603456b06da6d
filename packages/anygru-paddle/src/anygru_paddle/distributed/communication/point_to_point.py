"""Tensors from one process to another. `dst` and `src` are global ranks."""

from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from .collectives import Task, finish, raw
from .group import Group, resolve


def send(tensor: Any, dst: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Send the tensor to process `dst`, which receives it."""
    members = resolve(group)
    if members is None:
        return None
    value = raw(tensor, "tensor").contiguous()
    return finish(Task(dist.isend(value, dst, group=members.process_group)), sync_op)


def recv(tensor: Any, src: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Receive into the tensor the data that process `src` sends."""
    members = resolve(group)
    if members is None:
        return None
    return finish(Task(dist.irecv(raw(tensor, "tensor"), src, group=members.process_group)), sync_op)


def isend(tensor: Any, dst: int, group: Group | None = None) -> Task | None:
    """`send` that returns at once."""
    return send(tensor, dst, group, sync_op=False)


def irecv(tensor: Any, src: int | None = None, group: Group | None = None) -> Task | None:
    """`recv` that returns at once."""
    return recv(tensor, 0 if src is None else src, group, sync_op=False)


class P2POp:
    """One transfer of `batch_isend_irecv`: `op` is `isend` or `irecv`, `peer` the other process."""

    def __init__(self, op: Callable[..., Any], tensor: Any, peer: int, group: Group | None = None) -> None:
        if op not in (isend, irecv):
            raise RuntimeError(
                "Invalid ``op`` function. Expected ``op`` to be of type ``paddle.distributed.isend`` or "
                "``paddle.distributed.irecv``."
            )
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Task | None]:
    """Start several transfers and return their tasks."""
    if not p2p_op_list or not all(isinstance(operation, P2POp) for operation in p2p_op_list):
        raise RuntimeError("``p2p_op_list`` must be a non-empty list of paddle.distributed.P2POp")
    return [operation.op(operation.tensor, operation.peer, operation.group) for operation in p2p_op_list]
