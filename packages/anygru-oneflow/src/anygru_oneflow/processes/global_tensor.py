"""Tensors distributed over several processes (torch's DTensor on a DeviceMesh), and a GRU on them.

A local tensor becomes the process's piece of a global one: `Shard(dim)` puts the pieces side by side, `Replicate` takes
the first process's for all, `Partial` means their sum.

A GRU runs in one of two ways. With its weights replicated, each process runs the fast kernels on its part of the batch,
and the weights' gradients are summed over the processes. With weights cut over their rows (hidden units), no process ever
holds a whole matrix: each computes its rows of the gates, and the rows meet at every step.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

from anygru import functional
from anygru.errors import ArgumentError, ArgumentTypeError
from anygru.extend import not_covered, torch_private
from anygru.parallel import start

from .gradients import keep_gradient_layout as keep_gradient_layout
from .lines import lines_of
from .pieces import assembled as assembled
from .pieces import forget_piece as forget_piece
from .pieces import gradient_of as gradient_of
from .pieces import piece as piece
from .pieces import piece_of as piece_of
from .pieces import pieces_of as pieces_of
from .pieces import redistribute as redistribute
from .pieces import source_piece as source_piece
from .pieces import strides

Layout = Sequence[Placement]


def mesh(device_type: str, ranks: np.ndarray) -> DeviceMesh:
    """The mesh of these ranks, an array of one dimension or more. The first call connects the processes.

    Raises NotCoveredError with an older torch than 2.13.
    """
    return _mesh(device_type, ranks.shape, tuple(ranks.reshape(-1).tolist()))


@functools.lru_cache(maxsize=64)
def _mesh(device_type: str, shape: tuple[int, ...], ranks: tuple[int, ...]) -> DeviceMesh:
    if not torch_private.at_least(2, 13):  # layouts of results differ in 2.10, more in older versions
        raise not_covered(f"oneflow.Tensor.to_global with torch {torch.__version__}", "torch 2.13 or newer")
    start(alone=True)
    return DeviceMesh(device_type, torch.tensor(ranks).reshape(shape))


def from_local(local: Tensor, mesh: DeviceMesh, layout: Layout, alike: bool = False) -> DTensor:
    """The global tensor with `local` as this process's piece; gradients flow back to `local`.

    Args:
        alike: all pieces have one shape, so the processes need not exchange their shapes.

    Raises:
        ArgumentError: pieces of different shapes, other than the last ones of a split being shorter.
    """
    if mesh.get_coordinate() is None:
        return _from_outside(local, mesh, layout)
    shape, stride = list(local.shape), None
    # The last dimension of the mesh splits the pieces of the dimensions before it.
    for axis, kind in reversed(list(enumerate(layout))):
        if isinstance(kind, Shard) and mesh.size(axis) > 1:
            sizes = [list(shape)] * mesh.size(axis) if alike else _sizes(shape, local.device, mesh, axis)
            dim = kind.dim
            if any(size[:dim] + size[dim + 1 :] != sizes[0][:dim] + sizes[0][dim + 1 :] for size in sizes):
                raise ArgumentError(f"to_global: the pieces of a split must agree in all other sizes, got {sizes}")
            whole = sum(size[dim] for size in sizes)
            most = -(-whole // len(sizes))
            expected = [min(most, max(whole - place * most, 0)) for place in range(len(sizes))]
            if [size[dim] for size in sizes] != expected:
                raise ArgumentError(
                    f"to_global: {whole} rows over {len(sizes)} processes must be divided as {expected}, "
                    f"got {[size[dim] for size in sizes]}"
                )
            shape[dim] = whole
    if shape != list(local.shape):
        stride = strides(shape)
    # Replicas are made equal to the first process's by a broadcast into them: not into the caller's tensor.
    replicated = any(kind.is_replicate() for kind in layout) and mesh.size() > 1
    if mesh.ndim == 1 and not replicated:
        return assembled(local, mesh, layout, tuple(shape))
    local = local.clone(memory_format=torch.contiguous_format) if replicated else local.contiguous()
    if stride is None:
        return DTensor.from_local(local, mesh, layout, run_check=replicated)
    size = torch.Size(shape)
    return DTensor.from_local(local, mesh, layout, run_check=replicated, shape=size, stride=stride)


def _from_outside(local: Tensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """The same for a process outside of the mesh: its tensor only has the shape of the pieces, all of one size."""
    shape = list(local.shape)
    for axis, kind in enumerate(layout):
        if isinstance(kind, Shard):
            shape[kind.dim] *= mesh.size(axis)
    empty = local.reshape(-1)[:0]
    return DTensor.from_local(empty, mesh, layout, shape=torch.Size(shape), stride=strides(shape))


_MOST_DIMS = 64  # of a tensor of torch


def _sizes(shape: list[int], device: torch.device, mesh: DeviceMesh, axis: int) -> list[list[int]]:
    """The shape of each process's piece along one dimension of the mesh."""
    group = mesh.get_group(axis)
    lines = lines_of(group)
    if lines is not None:
        return lines.exchange(shape)
    row = [len(shape), *shape, *[0] * (_MOST_DIMS - len(shape))]
    own = torch.tensor(row, dtype=torch.int64, device=device)
    gathered = own.new_empty((mesh.size(axis), len(row)))
    dist.all_gather(list(gathered.unbind()), own, group=group)
    return [row[1 : row[0] + 1] for row in gathered.tolist()]


def total(count: Tensor, mesh: DeviceMesh) -> Tensor | int:
    """The sum of a whole number over the processes of a mesh of one dimension."""
    if mesh.size() == 1:
        return count
    group = mesh.get_group(0)
    lines = None if count.is_cuda else lines_of(group)  # to read a number of a GPU would wait for it
    if lines is not None:
        return sum(number for (number,) in lines.exchange([int(count)]))
    dist.all_reduce(count, group=group)
    return count


def from_whole(whole: Tensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """Make a global tensor of values that every process has; the values of the first process count."""
    return relayout(from_local(whole, mesh, [Replicate()] * mesh.ndim), mesh, layout)


def relayout(tensor: DTensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """Bring a global tensor into another layout, also on other processes; differentiable."""
    if mesh != tensor.device_mesh:
        return _moved(tensor, mesh, layout)
    return redistribute(tensor, layout)


def _moved(tensor: DTensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """The same global tensor on other processes, which may hold no part of it yet; differentiable."""
    source = tensor.redistribute(placements=[Replicate()] * tensor.device_mesh.ndim)
    whole = _Carried.apply(source, mesh)
    replicas = [Replicate()] * mesh.ndim
    moved = DTensor.from_local(
        whole.to(mesh.device_type), mesh, replicas, shape=tensor.shape, stride=strides(tensor.shape)
    )
    return relayout(moved, mesh, layout)


class _Carried(torch.autograd.Function):
    """Send a replicated tensor to the processes of another mesh; its gradient is sent back.

    Processes that are to hold nothing get an empty tensor, as torch's DTensor has it there.
    """

    @staticmethod
    def forward(ctx: Any, tensor: DTensor, mesh: DeviceMesh) -> Tensor:
        ctx.source, ctx.target, ctx.shape = tensor.device_mesh, mesh, tensor.shape
        return _carried(tensor._local_tensor, tensor.device_mesh, mesh, tensor.shape)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[DTensor, None]:
        whole = _carried(gradient, ctx.target, ctx.source, ctx.shape).to(ctx.source.device_type)
        replicas = [Replicate()] * ctx.source.ndim
        return DTensor.from_local(whole, ctx.source, replicas, shape=ctx.shape, stride=strides(ctx.shape)), None


def _carried(held: Tensor, source_mesh: DeviceMesh, target_mesh: DeviceMesh, shape: torch.Size) -> Tensor:
    """The tensor on the processes of the target; the first process of the source sends it to the processes without it."""
    source, target = (mesh.mesh.reshape(-1).tolist() for mesh in (source_mesh, target_mesh))
    rank, without = dist.get_rank(), [rank for rank in target if rank not in source]
    if rank == source[0]:
        for receiver in without:
            dist.send(held.detach().contiguous(), receiver)
    if rank in without:
        received = torch.empty(shape, dtype=held.dtype, device=held.device)
        dist.recv(received, source[0])
        return received
    return held.clone() if rank in target else held.new_empty(0)


def to_local(tensor: DTensor) -> Tensor:
    """This process's piece; differentiable. Of a replica, each process's use adds to the gradient."""
    gradients = [Partial() if kind.is_replicate() else kind for kind in tensor.placements]
    return DTensor.to_local(tensor, grad_placements=gradients)


def with_sums(tensor: DTensor) -> DTensor:
    """The tensor with torch's other partial results as sums over processes.

    Torch leaves a mean open as an average; operators that follow it, and their gradients, are right for sums. An open
    maximum or minimum is closed.
    """
    if any(map(_is_average, tensor.placements)):
        tensor = _Summed.apply(tensor)
    layout = [
        Replicate() if isinstance(kind, Partial) and kind.reduce_op != "sum" else kind for kind in tensor.placements
    ]
    return tensor if layout == list(tensor.placements) else tensor.redistribute(placements=layout)


class _Summed(torch.autograd.Function):
    """A tensor with averages over processes as sums; the gradient does not change."""

    @staticmethod
    def forward(ctx: Any, tensor: DTensor) -> DTensor:
        mesh, local = tensor.device_mesh, tensor._local_tensor
        for axis in (axis for axis, kind in enumerate(tensor.placements) if _is_average(kind)):
            local = local / mesh.size(axis)
        layout = [Partial() if _is_average(kind) else kind for kind in tensor.placements]
        return DTensor.from_local(
            local, mesh, layout, run_check=False, shape=tensor.shape, stride=strides(tensor.shape)
        )

    @staticmethod
    def backward(ctx: Any, *gradients: DTensor) -> DTensor:
        return gradients[0]


def _is_average(kind: Placement) -> bool:
    return isinstance(kind, Partial) and kind.reduce_op == "avg"


def gru(
    input: DTensor, h_0: DTensor | None, weights: Sequence[DTensor], *, batch_first: bool = False, **options: Any
) -> tuple[Tensor, Tensor]:
    """`functional.gru` on global tensors.

    Args:
        input: [T, B, I] ([B, T, I] if batch_first) or [T, I]. Where it is split over another dimension than the batch, or
            is an open sum, it is first brought to a split over the batch.
        h_0: [L*D, B, H] ([L*D, H]), in any layout; None: zeros.
        weights: as for `functional.gru`; each replicated, or split over its rows (dimension 0).
        options: as for `functional.gru`.

    Returns:
        output and h_n, global tensors: split over the batch if neither input nor h_0 is replicated; otherwise replicated.

    Raises:
        ArgumentTypeError: local tensors among global ones, or other processes.
        ArgumentError: a weight in another layout; the message names the possible layouts.
    """
    if options.get("batch_first_states"):
        raise ArgumentError("batch_first_states is for local tensors: the states of global ones are [L*D, B, H]")
    given = {"input": input, "h_0": h_0, **{f"weights[{index}]": weight for index, weight in enumerate(weights)}}
    for name, tensor in given.items():
        if tensor is not None and not isinstance(tensor, DTensor):
            raise ArgumentTypeError(
                f"{name} is a local tensor among global ones; to_global(placement, sbp) makes it one"
            )
        if tensor is not None and tensor.device_mesh != input.device_mesh:
            raise ArgumentTypeError(f"{name} is on {tensor.device_mesh}, and input on {input.device_mesh}")
    rows = _over_rows(weights)
    batch_dim = (0 if batch_first else 1) if input.dim() == 3 else None
    split = [batch_dim is not None and not kind.is_replicate() for kind in input.placements]
    # Where a state is given for the whole batch, the results are for the whole batch.
    shown = split if h_0 is None else [a and not b.is_replicate() for a, b in zip(split, h_0.placements, strict=True)]
    if not any(rows):

        def compute(piece: Tensor, states: list[Tensor | None], own: list[Tensor]) -> tuple[Tensor, Tensor]:
            return functional.gru(piece, states[0], own, batch_first=batch_first, **options)

        output, h_n = over_batch(compute, input, [h_0], weights, batch_dim)
        return _redistribute_results(output, h_n, shown, batch_dim)
    # Where the rows are split, every process needs the whole batch; torch's own operators combine the rows of the gates.
    whole = [over_batch and not over_rows for over_batch, over_rows in zip(split, rows, strict=True)]
    h_0 = None if h_0 is None else h_0.redistribute(placements=_over_batch(whole, 1))
    input = input.redistribute(placements=_over_batch(whole, batch_dim))
    results = functional.gru(input, h_0, weights, batch_first=batch_first, **options)
    return _redistribute_results(*cast(tuple[DTensor, DTensor], results), shown, batch_dim)


def _redistribute_results(
    output: DTensor, h_n: DTensor, split: Sequence[bool], batch_dim: int | None
) -> tuple[DTensor, DTensor]:
    """Redistribute the results so that their batch is split over these dimensions of the mesh."""
    return redistribute(output, _over_batch(split, batch_dim)), redistribute(h_n, _over_batch(split, 1))


def _over_batch(split: Sequence[bool], batch_dim: int | None) -> list[Placement]:
    """The layout of a tensor with its batch split over these dimensions of the mesh."""
    return [Shard(batch_dim) if over_batch and batch_dim is not None else Replicate() for over_batch in split]


def over_batch(
    compute: Callable[[Tensor, list[Tensor | None], list[Tensor]], Sequence[Tensor]],
    input: DTensor,
    states: Sequence[DTensor | None],
    weights: Sequence[DTensor],
    batch_dim: int | None,
    state_dim: int = 1,
) -> list[DTensor]:
    """Compute a layer with each process on its part of the batch, with all weights.

    Args:
        compute: takes this process's input, states and the whole weights; its first result has the layout of the input, the
            other results have the layout of the states.
        batch_dim, state_dim: the batch's dimension in input and in the states; None: there is no batch.
    """
    split = [batch_dim is not None and not kind.is_replicate() for kind in input.placements]
    of_input, of_state = _over_batch(split, batch_dim), _over_batch(split, state_dim)
    # Each process that has another part of the batch adds to the gradient of the weights.
    gradients = [Partial() if over_batch else Replicate() for over_batch in split]
    replicas = [Replicate()] * len(split)
    whole = [redistribute(weight, replicas) for weight in weights]
    own = pieces_of(whole, gradients)
    held = [None if state is None else piece(state, of_state) for state in states]
    results = compute(piece(input, of_input), held, own)
    found = []
    for place, result in enumerate(results):
        layout, dim = (of_state, state_dim) if place else (of_input, batch_dim)
        shape = list(result.shape)
        if batch_dim is not None and dim is not None:
            shape[dim] = input.shape[batch_dim]
        found.append(assembled(result, input.device_mesh, layout, tuple(shape)))
    return found


def _over_rows(weights: Sequence[DTensor]) -> list[bool]:
    """Over which dimensions of the mesh some weight is split over its rows.

    Raises:
        ArgumentError: a weight that is split over its columns, or a sum.
    """
    rows = [False] * weights[0].device_mesh.ndim
    for index, weight in enumerate(weights):
        for axis, kind in enumerate(weight.placements):
            if isinstance(kind, Shard) and kind.dim % weight.dim() == 0:
                rows[axis] = True
            elif not kind.is_replicate() and weight.device_mesh.size(axis) > 1:
                raise ArgumentError(
                    f"weights[{index}] has layout {kind}; a GRU's weights can be broadcast, or split over rows (dimension 0)"
                )
    return rows
