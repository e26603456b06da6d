"""This process's piece of a global tensor, and the global tensor of the processes' pieces.

A tensor assembled from pieces keeps this process's piece, with its place in the autograd graph, so that an operator without
communication uses that piece again. Steps of data-parallel training then run on local tensors from end to end, and the global
tensors only cost their construction.
"""

import functools
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

from anygru.extend import torch_private

Layout = Sequence[Placement]

_SOURCE = "_anygru_source_piece"  # the attribute of a tensor with the piece that it was made from
TAKES = "_anygru_takes_gradient"
"""The attribute of a parameter with a function that may take its piece's gradient, and returns whether it did."""


def _steady_hash(kind: Partial) -> int:
    """The same number in every process.

    Torch's hash is of the word "sum", which differs between processes. Since torch 2.13 it tries layouts of equal cost in the
    order of a set: processes chose different layouts for one operator, and blocked.
    """
    return zlib.crc32(kind.reduce_op.encode())


for _kind in (Partial, *Partial.__subclasses__()):
    _kind.__hash__ = _steady_hash  # type: ignore[assignment, method-assign]


class _Made:
    """The piece that a tensor was made from.

    Attributes:
        versions: how often the piece and the tensor had been changed in place.
        used: whether an operator has used the piece instead of the tensor.
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


def redistribute(tensor: DTensor, layout: Layout) -> DTensor:
    """The tensor in another layout, or itself if it is in that already; twice differentiable."""
    if tuple(tensor.placements) == tuple(layout):
        return tensor
    if all(old.is_partial() or not new.is_partial() for new, old in zip(layout, tensor.placements, strict=True)):
        return tensor.redistribute(placements=layout)
    # An open sum is closed and opened again: the processes' shares of a second derivative add up
    # over every open sum, and the shares of a sum that was open would count once for each process.
    becomes_partial = [kind.is_partial() for kind in layout]
    mesh = tensor.device_mesh
    # Each process adds its part to a sum: of a replica the first process adds all, of a split each process adds its piece.
    before = [Replicate() if partial else kind for kind, partial in zip(layout, becomes_partial, strict=True)]
    # Each process's gradient is the gradient of its part.
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
    """This process's piece in a layout; its gradient has the same layout."""
    return piece_of(redistribute(tensor, layout), layout)


def source_piece(tensor: Tensor) -> Tensor | None:
    """The piece that a global tensor was made from, if neither has been changed since."""
    known: _Made | None = vars(tensor).get(_SOURCE)
    if known is None or (known.piece._version, tensor._version) != known.versions:
        return None
    return known.piece if known.piece.requires_grad or not tensor.requires_grad else None


def forget_piece(tensor: Tensor) -> bool:
    """Let operators go through the tensor itself from now on; return whether one has gone past it before."""
    known = vars(tensor).pop(_SOURCE, None)
    return known is not None and known.used


def piece_of(tensor: DTensor, gradients: Layout) -> Tensor:
    """This process's piece; differentiable.

    Args:
        gradients: the layout of the piece's share of the tensor's gradient.
    """
    known = _at_hand(tensor)
    piece: Tensor = _cut(tuple(gradients), tensor)[0] if known is None else known
    return piece


def pieces_of(tensors: Sequence[DTensor], gradients: Layout) -> list[Tensor]:
    """This process's pieces of several tensors, in one step of the graph; see `piece_of`."""
    found = [_at_hand(tensor) for tensor in tensors]
    others = [tensor for tensor, known in zip(tensors, found, strict=True) if known is None]
    cut = iter(_cut(tuple(gradients), *others) if others else ())
    return [next(cut) if known is None else known for known in found]


def _at_hand(tensor: DTensor) -> Tensor | None:
    """A piece that needs no step of the graph: the piece that the tensor was made from, or a piece without gradients."""
    known = source_piece(tensor)
    if known is not None:
        vars(tensor)[_SOURCE].used = True
        return known
    return None if tensor.requires_grad and torch.is_grad_enabled() else DTensor.to_local(tensor)


def assembled(local: Tensor, mesh: DeviceMesh, layout: Layout, shape: tuple[int, ...]) -> DTensor:
    """The global tensor of a known shape with `local` as this process's piece; twice differentiable."""
    local = local.contiguous()
    result: DTensor
    if local.requires_grad and torch.is_grad_enabled():
        result = _assemble(local, mesh, tuple(layout), shape)
    else:
        result = _outside_graph(local.detach(), mesh, tuple(layout), shape)
    if mesh.ndim == 1 and not layout[0].is_replicate():
        vars(result)[_SOURCE] = _Made(local, result)
    return result


def gradient_of(tensor: DTensor, gradient: Tensor) -> DTensor:
    """The gradient of a tensor from the gradient of its piece."""
    layout = [Replicate() if kind.is_partial() else kind for kind in tensor.placements]
    return assembled(gradient, tensor.device_mesh, layout, tuple(tensor.shape))


@functools.lru_cache(maxsize=1024)
def _described(mesh: DeviceMesh, layout: tuple[Placement, ...], shape: torch.Size, dtype: torch.dtype) -> DTensorSpec:
    return DTensorSpec(mesh, layout, tensor_meta=TensorMeta(shape, strides(shape), dtype))


def _wrapped(local: Tensor, mesh: DeviceMesh, layout: tuple[Placement, ...], shape: tuple[int, ...]) -> DTensor:
    """`DTensor.from_local` for a dense piece, without its checks and outside of the graph."""
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


def _applied(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """`function.apply`, in a third of the time where no transform of torch.func is active."""
    plain = torch_private.plain_apply(function)
    return lambda *arguments: (plain if torch_private.transform_level() is None else function.apply)(*arguments)


class _Pieces(torch.autograd.Function):
    """`DTensor.to_local` with a backward pass that describes the gradients in a third of the time; twice differentiable."""

    @staticmethod
    def forward(ctx: Any, gradients: tuple[Placement, ...], *tensors: DTensor) -> tuple[Tensor, ...]:
        ctx.gradients, ctx.of = gradients, [(tensor.device_mesh, tuple(tensor.shape)) for tensor in tensors]
        ctx.set_materialize_grads(False)
        return tuple([tensor._local_tensor.view_as(tensor._local_tensor) for tensor in tensors])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[DTensor | None, ...]:
        return (
            None,
            *[
                None if gradient is None else _given_back(gradient, node, ctx.gradients, mesh, shape)
                for gradient, (node, _), (mesh, shape) in zip(gradients, ctx.next_functions, ctx.of, strict=True)
            ],
        )


def _given_back(
    gradient: Tensor, node: Any, layout: tuple[Placement, ...], mesh: DeviceMesh, shape: tuple[int, ...]
) -> DTensor | None:
    """The gradient of a tensor from the gradient of its piece; None if the parameter at this end of the graph has taken it."""
    if torch.is_grad_enabled():
        return assembled(gradient, mesh, layout, shape)
    leaf = getattr(node, "variable", None)
    takes = None if leaf is None else vars(leaf).get(TAKES)
    if takes is not None and takes(node, gradient, layout):
        return None
    return _wrapped(gradient.contiguous(), mesh, layout, shape)


_cut = _applied(_Pieces)


class _Assembled(torch.autograd.Function):
    """`DTensor.from_local`. torch's backward pass cannot be differentiated if the gradient has another layout."""

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
        return (DTensor.to_local(gradients[0].redistribute(placements=back), grad_placements=twice), None, None, None)


_assemble = _applied(_Assembled)
