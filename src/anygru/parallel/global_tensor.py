"""Tensors that lie on several processes (torch's DTensor on a DeviceMesh), and a GRU on them.

A local tensor becomes the process's piece of a global one: `Shard(dim)` puts the pieces side by side, `Replicate` takes
the first process's for all, `Partial` means their sum.

A GRU runs in one of two ways. With its weights replicated, each process runs the fast kernels on its part of the batch,
and the weights' gradients are summed over the processes. With weights cut over their rows (hidden units), no process ever
holds a whole matrix: each computes its rows of the gates, and the rows meet at every step.
"""

import functools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

from .. import functional
from ..errors import ArgumentError, ArgumentTypeError
from .world import start

Layout = Sequence[Placement]


def mesh(device_type: str, ranks: np.ndarray) -> DeviceMesh:
    """The mesh of these ranks, an array of one dimension or more. The first call connects the processes."""
    return _mesh(device_type, ranks.shape, tuple(ranks.reshape(-1).tolist()))


@functools.lru_cache(maxsize=64)
def _mesh(device_type: str, shape: tuple[int, ...], ranks: tuple[int, ...]) -> DeviceMesh:
    start(alone=True)
    return DeviceMesh(device_type, torch.tensor(ranks).reshape(shape))


def from_local(local: Tensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """The global tensor of which `local` is this process's piece; gradients flow back to `local`.

    Raises:
        ArgumentError: pieces of different shapes, other than the last ones of a split being shorter.
    """
    shape, stride = list(local.shape), None
    for axis, kind in enumerate(layout):
        if isinstance(kind, Shard) and mesh.size(axis) > 1:
            sizes = _sizes(local, mesh, axis)
            dim = kind.dim
            if any(size[:dim] + size[dim + 1 :] != sizes[0][:dim] + sizes[0][dim + 1 :] for size in sizes):
                raise ArgumentError(f"to_global: the pieces of a split must agree in all other sizes, got {sizes}")
            whole = sum(size[dim] for size in sizes)
            expected = [len(piece) for piece in torch.arange(whole).chunk(len(sizes))]
            expected += [0] * (len(sizes) - len(expected))
            if [size[dim] for size in sizes] != expected:
                raise ArgumentError(
                    f"to_global: {whole} rows over {len(sizes)} processes must lie as {expected}, "
                    f"got {[size[dim] for size in sizes]}"
                )
            shape[dim] = whole
    if shape != list(local.shape):
        stride = torch.empty(shape, device="meta").stride()
    # Replicas are made equal to the first process's by a broadcast into them: not into the caller's tensor.
    replicated = any(kind.is_replicate() for kind in layout) and mesh.size() > 1
    local = local.clone(memory_format=torch.contiguous_format) if replicated else local.contiguous()
    if stride is None:
        return DTensor.from_local(local, mesh, layout, run_check=replicated)
    size = torch.Size(shape)
    return DTensor.from_local(local, mesh, layout, run_check=replicated, shape=size, stride=stride)


def _sizes(local: Tensor, mesh: DeviceMesh, axis: int) -> list[list[int]]:
    """The shape of each process's piece along one dimension of the mesh."""
    sizes: list[Any] = [None] * mesh.size(axis)
    dist.all_gather_object(sizes, list(local.shape), group=mesh.get_group(axis))
    return sizes


def from_whole(whole: Tensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """Make a global tensor of values that every process has; those of the first process are used."""
    return relayout(from_local(whole, mesh, [Replicate()] * mesh.ndim), mesh, layout)


def relayout(tensor: DTensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """Redistribute a global tensor; differentiable."""
    if mesh != tensor.device_mesh:
        return _moved(tensor, mesh, layout)
    becomes_partial = [
        new.is_partial() and not old.is_partial() for new, old in zip(layout, tensor.placements, strict=True)
    ]
    if not any(becomes_partial):
        return tensor.redistribute(placements=layout)
    # Into a sum, each process brings what it holds: of a replica the first one all, of a split each one its piece.
    before = [Replicate() if partial else kind for kind, partial in zip(layout, becomes_partial, strict=True)]
    # Each process's gradient is that of what it brings alone.
    gradients = [Partial() if partial else kind for kind, partial in zip(before, becomes_partial, strict=True)]
    local = DTensor.to_local(tensor.redistribute(placements=before), grad_placements=gradients)
    places = mesh.get_coordinate() or [0] * mesh.ndim  # a process outside the mesh holds no piece
    for axis, (partial, kind) in enumerate(zip(becomes_partial, tensor.placements, strict=True)):
        if partial:
            place, dim = places[axis], kind.dim if isinstance(kind, Shard) else None
            pieces = local.chunk(mesh.size(axis), dim) if dim is not None else (local,)
            kept = [piece if number == place else piece * 0 for number, piece in enumerate(pieces)]
            local = torch.cat(kept, dim) if dim is not None else kept[0]
    return DTensor.from_local(local, mesh, layout)


def _moved(tensor: DTensor, mesh: DeviceMesh, layout: Layout) -> DTensor:
    """Move a global tensor to another mesh, whose first process must hold its values."""
    source = tensor.device_mesh
    first, holders = int(mesh.mesh.reshape(-1)[0]), source.mesh.reshape(-1).tolist()
    if first not in holders:
        raise ArgumentError(f"to_global: the first process of the new placement, {first}, holds nothing of {holders}")
    if source.get_coordinate() is None:
        whole = torch.zeros(tensor.shape, dtype=tensor.dtype)
    else:
        whole = DTensor.to_local(tensor.redistribute(placements=[Replicate()] * source.ndim))
    return from_whole(whole.to(mesh.device_type), mesh, layout)


def to_local(tensor: DTensor) -> Tensor:
    """This process's piece; differentiable. Of a replica, each process's use adds to the gradient."""
    averaged = [axis for axis, kind in enumerate(tensor.placements) if _is_average(kind)]
    gradients = [Partial() if kind.is_replicate() else kind for kind in tensor.placements]
    local = DTensor.to_local(tensor, grad_placements=gradients)
    for axis in averaged:  # torch marks the result of a mean as an average over processes; to_local returns a sum
        local = local / tensor.device_mesh.size(axis)
    return local


def _is_average(kind: Placement) -> bool:
    return isinstance(kind, Partial) and kind.reduce_op == "avg"


def keep_gradient_layout(parameter: Tensor) -> None:
    """Redistribute a parameter's gradient to the parameter's own layout after each backward."""
    if not parameter.requires_grad or not isinstance(parameter, DTensor):
        return

    def relay(leaf: Tensor) -> None:
        gradient = leaf.grad
        if isinstance(gradient, DTensor) and tuple(gradient.placements) != tuple(parameter.placements):
            leaf.grad = gradient.redistribute(placements=parameter.placements)

    parameter.register_post_accumulate_grad_hook(relay)


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
        output and h_n, global tensors: split over the batch where input is not replicated, nor h_0; else replicated.

    Raises:
        ArgumentTypeError: local tensors among global ones, or other processes.
        ArgumentError: a weight in another layout; the message tells which can be computed.
    """
    given = {"input": input, "h_0": h_0, **{f"weights[{index}]": weight for index, weight in enumerate(weights)}}
    for name, tensor in given.items():
        if tensor is not None and not isinstance(tensor, DTensor):
            raise ArgumentTypeError(
                f"{name} is a local tensor among global ones; to_global(placement, sbp) makes it one"
            )
        if tensor is not None and tensor.device_mesh != input.device_mesh:
            raise ArgumentTypeError(f"{name} lies on {tensor.device_mesh}, and input on {input.device_mesh}")
    rows = _over_rows(weights)
    batch_dim = (0 if batch_first else 1) if input.dim() == 3 else None
    split = [batch_dim is not None and not kind.is_replicate() for kind in input.placements]
    # Where a state is given for the whole batch, the results are for the whole batch.
    shown = split if h_0 is None else [a and not b.is_replicate() for a, b in zip(split, h_0.placements, strict=True)]
    if not any(rows):
        options = {"batch_first": batch_first, **options}
        output, h_n = _with_whole_weights(input, h_0, weights, batch_dim, split, options)
        return _laid_out(output, h_n, shown, batch_dim)
    # Where the rows are split, every process needs the whole batch; torch's own operators combine the rows of the gates.
    whole = [over_batch and not over_rows for over_batch, over_rows in zip(split, rows, strict=True)]
    h_0 = None if h_0 is None else h_0.redistribute(placements=_over_batch(whole, 1))
    input = input.redistribute(placements=_over_batch(whole, batch_dim))
    results = functional.gru(input, h_0, weights, batch_first=batch_first, **options)
    return _laid_out(*cast(tuple[DTensor, DTensor], results), shown, batch_dim)


def _laid_out(output: DTensor, h_n: DTensor, split: Sequence[bool], batch_dim: int | None) -> tuple[DTensor, DTensor]:
    """Redistribute the results so that their batch is split over these dimensions of the mesh."""
    return (
        output.redistribute(placements=_over_batch(split, batch_dim)),
        h_n.redistribute(placements=_over_batch(split, 1)),
    )


def _over_batch(split: Sequence[bool], batch_dim: int | None) -> list[Placement]:
    """The layout of a tensor whose batch is split over these dimensions of the mesh."""
    return [Shard(batch_dim) if over_batch and batch_dim is not None else Replicate() for over_batch in split]


def _with_whole_weights(
    input: DTensor,
    h_0: DTensor | None,
    weights: Sequence[DTensor],
    batch_dim: int | None,
    split: Sequence[bool],
    options: dict[str, Any],
) -> tuple[DTensor, DTensor]:
    """Compute each process's part of the batch with whole weights."""
    of_input, of_state = _over_batch(split, batch_dim), _over_batch(split, 1)
    # Each process that has another part of the batch adds to the gradient of the weights.
    gradients = [Partial() if over_batch else Replicate() for over_batch in split]
    whole = [weight.redistribute(placements=[Replicate()] * len(split)) for weight in weights]
    own = [DTensor.to_local(weight, grad_placements=gradients) for weight in whole]
    state = None if h_0 is None else DTensor.to_local(h_0.redistribute(placements=of_state))
    output, h_n = functional.gru(DTensor.to_local(input.redistribute(placements=of_input)), state, own, **options)
    sizes = () if batch_dim is None else (input.shape[batch_dim],)
    return (
        _assembled(output, input.device_mesh, of_input, (*input.shape[:-1], output.shape[-1])),
        _assembled(h_n, input.device_mesh, of_state, (h_n.shape[0], *sizes, h_n.shape[-1])),
    )


def _assembled(local: Tensor, mesh: DeviceMesh, layout: Layout, shape: tuple[int, ...]) -> DTensor:
    """The global tensor of a known shape."""
    stride = torch.empty(shape, device="meta").stride()
    return DTensor.from_local(local.contiguous(), mesh, layout, run_check=False, shape=torch.Size(shape), stride=stride)


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
                    f"weights[{index}] lies as {kind}; a GRU's weights can be broadcast, or split over their rows (dimension 0)"
                )
    return rows
