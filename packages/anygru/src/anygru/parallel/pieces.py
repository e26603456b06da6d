"""This process's piece of a global tensor, and the global tensor of the processes' pieces.

A tensor that was made of pieces remembers this process's one, with its place in the autograd graph, so that an operator which
needs no messages takes that piece again. Steps of data-parallel training then run on local tensors from end to end, and the
global tensors beside them cost no more than their making.
"""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

Layout = Sequence[Placement]

_MADE = "_anygru_made_of"  # the attribute of a tensor with the piece of which it was made
TAKES = "_anygru_takes_gradient"
"""The attribute of a parameter with a function that may take its piece's gradient, and tells whether it did."""


class _Made:
    """The piece of which a tensor was made.

    Attributes:
        versions: how often the piece and the tensor had been changed in place.
        used: whether an operator has taken the piece in the place of the tensor.
    """

    def __init__(self, piece: Tensor, whole: Tensor) -> None:
        self.piece, self.versions, self.used = piece, (piece._version, whole._version), False


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense tensor."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= max(size, 1)
    return tuple(reversed(found))


def laid(tensor: DTensor, layout: Layout) -> DTensor:
    """The tensor in another layout, or itself if it is in that already; twice differentiable."""
    if tuple(tensor.placements) == tuple(layout):
        return tensor
    if all(old.is_partial() or not new.is_partial() for new, old in zip(layout, tensor.placements, strict=True)):
        return tensor.redistribute(placements=layout)
    # A sum that is open already is closed and opened with the others: the processes' shares of a second derivative add up
    # over every open sum, and would be counted once for each process of one that had been left open.
    becomes_partial = [kind.is_partial() for kind in layout]
    mesh = tensor.device_mesh
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
    return assembled(local, mesh, layout, tuple(tensor.shape))


def piece(tensor: DTensor, layout: Layout) -> Tensor:
    """This process's piece in a layout, whose gradient has it, too."""
    return piece_of(laid(tensor, layout), layout)


def made_of(tensor: Tensor) -> Tensor | None:
    """The piece of which a global tensor was made, if it has not been changed since."""
    known: _Made | None = vars(tensor).get(_MADE)
    if known is None or (known.piece._version, tensor._version) != known.versions:
        return None
    return known.piece if known.piece.requires_grad or not tensor.requires_grad else None


def forget_piece(tensor: Tensor) -> bool:
    """Let operators go through the tensor itself from now on; return whether one has gone past it before."""
    known = vars(tensor).pop(_MADE, None)
    return known is not None and known.used


def piece_of(tensor: DTensor, gradients: Layout) -> Tensor:
    """This process's piece; differentiable.

    Args:
        gradients: the layout of what the piece adds to the tensor's gradient.
    """
    known = made_of(tensor)
    if known is not None:
        vars(tensor)[_MADE].used = True
        return known
    if not torch.is_grad_enabled():
        return DTensor.to_local(tensor)
    piece: Tensor = _Piece.apply(tensor, tuple(gradients))  # type: ignore[no-untyped-call]
    return piece


def assembled(local: Tensor, mesh: DeviceMesh, layout: Layout, shape: tuple[int, ...]) -> DTensor:
    """The global tensor of a known shape of which `local` is this process's piece; twice differentiable."""
    local = local.contiguous()
    result: DTensor
    if local.requires_grad and torch.is_grad_enabled():
        result = _Assembled.apply(local, mesh, tuple(layout), shape)  # type: ignore[no-untyped-call]
    else:
        result = _outside_graph(local.detach(), mesh, tuple(layout), shape)
    if mesh.ndim == 1 and not layout[0].is_replicate():
        vars(result)[_MADE] = _Made(local, result)
    return result


def gradient_of(tensor: DTensor, gradient: Tensor) -> DTensor:
    """The gradient of a tensor from that of its piece."""
    layout = [Replicate() if kind.is_partial() else kind for kind in tensor.placements]
    return assembled(gradient, tensor.device_mesh, layout, tuple(tensor.shape))


@functools.lru_cache(maxsize=1024)
def _described(mesh: DeviceMesh, layout: tuple[Placement, ...], shape: torch.Size, dtype: torch.dtype) -> DTensorSpec:
    return DTensorSpec(mesh, layout, tensor_meta=TensorMeta(shape, strides(shape), dtype))


def _wrapped(local: Tensor, mesh: DeviceMesh, layout: tuple[Placement, ...], shape: tuple[int, ...]) -> DTensor:
    """What `DTensor.from_local` does for a dense piece, without its checks and outside of the graph."""
    size = torch.Size(shape)
    known = _described(mesh, layout, size, local.dtype)
    if known.mesh is not mesh:  # an equal mesh may be of process groups that have ended
        known = DTensorSpec(mesh, layout, tensor_meta=TensorMeta(size, strides(size), local.dtype))
    # Torch may change a description in place, so each tensor has its own; a copy is several times cheaper than a new one.
    own = DTensorSpec.__new__(DTensorSpec)
    vars(own).update(vars(known))
    return described(local, own, local.requires_grad)


def described(local: Tensor, spec: DTensorSpec, requires_grad: bool = False) -> DTensor:
    """The global tensor of a piece. `DTensor()` also enters torch's compiler, to run a constructor that does nothing."""
    return DTensor.__new__(DTensor, local, spec, requires_grad=requires_grad)


def _outside_graph(local: Tensor, mesh: DeviceMesh, layout: tuple[Placement, ...], shape: tuple[int, ...]) -> DTensor:
    """The global tensor of a piece that has no other tensor object; a process outside of the mesh holds nothing."""
    return _wrapped(local if mesh.get_coordinate() is not None else local.new_empty(0), mesh, layout, shape)


class _Piece(torch.autograd.Function):
    """`DTensor.to_local`, whose backward pass describes the gradient in a third of the time; twice differentiable."""

    @staticmethod
    def forward(ctx: Any, tensor: DTensor, gradients: tuple[Placement, ...]) -> Tensor:
        ctx.mesh, ctx.gradients, ctx.shape = tensor.device_mesh, gradients, tuple(tensor.shape)
        ctx.set_materialize_grads(False)
        return tensor._local_tensor.view_as(tensor._local_tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[DTensor | None, None]:
        if gradients[0] is None:
            return None, None
        if torch.is_grad_enabled():
            return assembled(gradients[0], ctx.mesh, ctx.gradients, ctx.shape), None
        node = ctx.next_functions[0][0]
        leaf = getattr(node, "variable", None)
        takes = None if leaf is None else vars(leaf).get(TAKES)
        if takes is not None and takes(node, gradients[0], ctx.gradients):
            return None, None
        return _wrapped(gradients[0].contiguous(), ctx.mesh, ctx.gradients, ctx.shape), None


class _Assembled(torch.autograd.Function):
    """`DTensor.from_local`, whose own backward pass cannot be differentiated where the gradient has another layout."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, mesh: DeviceMesh, layout: tuple[Placement, ...], shape: tuple[int, ...]
    ) -> DTensor:
        ctx.layout = layout
        return _outside_graph(local.view_as(local), mesh, layout, shape)

    @staticmethod
    def backward(ctx: Any, *gradients: DTensor) -> tuple[Tensor, None, None, None]:
        # Of a sum, each process's piece has the whole gradient, and the gradients of these add up.
        back = [Replicate() if kind.is_partial() else kind for kind in ctx.layout]
        if list(gradients[0].placements) == back and not torch.is_grad_enabled():
            return gradients[0]._local_tensor, None, None, None
        twice = [Partial() if kind.is_partial() else kind for kind in ctx.layout]
        return (
            DTensor.to_local(gradients[0].redistribute(placements=back), grad_placements=twice),
            None,
            None,
            None,
        )
