"""Collectives on local tensors: torch.distributed's. Each changes the tensors that receive, and needs every process."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from anygru import parallel

from ..framework.dressing import dress
from ..framework.dtype import DeviceLike, dtype, plain
from ..framework.tensor import Tensor

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "barrier", "broadcast", "gather", "recv",
    "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip


def all_reduce(tensor: Tensor) -> None:
    """Put the sum over the processes into the tensor."""
    dist.all_reduce(_local(tensor))


def all_gather(tensor_list: list[Tensor], tensor: Tensor) -> None:
    """Put each process's tensor into the list."""
    source = _local(tensor)
    gathered = [torch.empty_like(source) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, source)
    tensor_list[:] = map(dress, gathered)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """Put the processes' tensors into one, beneath each other or stacked along a new first dimension."""
    pieces = _local(output_tensor).chunk(dist.get_world_size())
    source = _local(input_tensor).contiguous()
    gathered = [torch.empty_like(source) for _ in pieces]
    dist.all_gather(gathered, source)
    for piece, values in zip(pieces, gathered, strict=True):
        piece.copy_(values.reshape(piece.shape))


def broadcast(tensor: Tensor, src: int) -> None:
    """Put the tensor of process `src` into the tensor of each process."""
    dist.broadcast(_local(tensor), src)


def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int = 0) -> None:
    """Put one entry of the list of process `src` into each process's tensor."""
    local = _local(tensor)
    pieces = [_local(piece) for piece in scatter_list or ()] if dist.get_rank() == src else None
    dist.scatter(local, pieces, src)


def reduce(tensor: Tensor, dst: int) -> None:
    """Put the sum into the tensor of process `dst`; the other tensors do not change."""
    local = _local(tensor)
    # torch's `reduce` may leave sums of some processes in the tensors of other processes.
    total = local.clone()
    dist.all_reduce(total)
    if dist.get_rank() == dst:
        local.copy_(total)


def gather(tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int = 0) -> None:
    """Put each process's tensor into the list; OneFlow does it on every process that passes one."""
    all_gather(gather_list if gather_list is not None else [], tensor)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor]) -> None:
    """Put the sum of the processes' entries number `rank` into this process's output."""
    local = _local(output)
    for rank, piece in enumerate(input_list):
        total = _local(piece).clone()
        dist.all_reduce(total)
        if rank == dist.get_rank():
            local.copy_(total)


def reduce_scatter_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """The same with the entries in one tensor, beneath each other or stacked along its first dimension."""
    pieces = _local(input_tensor).chunk(dist.get_world_size())
    reduce_scatter(output_tensor, [dress(piece.reshape(output_tensor.shape)) for piece in pieces])


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: Sequence[Tensor]) -> None:
    """Put entry number `rank` of every process's input list into this process's output list."""
    for source, output in enumerate(output_tensor_list):
        scatter(output, input_tensor_list, source)


def send(tensor: Tensor, dst: int, send_meta: bool = True) -> None:
    """Send a tensor to process `dst`, which calls `recv`; `send_meta` sends its shape and type before it."""
    local = _local(tensor)
    if send_meta:
        dist.send_object_list([(tuple(local.shape), local.dtype)], dst)
    dist.send(local, dst)


def recv(
    src: int,
    shape: Sequence[int] | None = None,
    dtype: dtype | None = None,
    device: DeviceLike | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Receive a tensor from process `src`, into `out` if it is given; give shape and type if they are not sent."""
    parallel.start(alone=True, timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
    known: Any = plain(dtype)
    if shape is None:
        sent: list[Any] = [None]
        dist.recv_object_list(sent, src)
        shape, known = sent[0]
    received = torch.empty(tuple(shape), dtype=known, device=device)
    dist.recv(received, src)
    if out is None:
        return dress(received)
    _local(out).copy_(received)
    return out


def barrier() -> None:
    """Wait for all processes."""
    parallel.start(alone=True, timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
    dist.barrier()


def _local(tensor: Tensor) -> torch.Tensor:
    """An alias of the tensor's values for torch.distributed."""
    if not isinstance(tensor, Tensor) or tensor.is_global:
        raise AssertionError(f"a collective of oneflow.comm takes local tensors, got {type(tensor).__name__}")
    parallel.start(alone=True, timeout=parallel.launch_timeout(parallel.LONG_TIMEOUT))
    return tensor.detach().as_subclass(torch.Tensor)
