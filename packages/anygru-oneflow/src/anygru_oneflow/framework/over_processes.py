"""Methods of tensors that return or change their layout over processes."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Placement

from .. import sbp as sbp_module
from ..processes import global_tensor
from . import placement as placements
from .dressing import dress, torch_dtype


class OverProcesses(torch.Tensor):
    """The part of `oneflow.Tensor` that is about processes."""

    @property
    def is_global(self) -> bool:
        return isinstance(self, DTensor)

    @property
    def is_local(self) -> bool:
        return not isinstance(self, DTensor)

    is_consistent = is_global
    is_lazy = property(lambda self: False)
    is_eager = property(lambda self: True)

    @property
    def placement(self) -> placements.placement:
        return placements.of_mesh(self._layout("placement").device_mesh)

    @property
    def sbp(self) -> tuple[sbp_module.sbp, ...]:
        return tuple(map(sbp_module.of_placement, self._layout("sbp").placements))

    def _layout(self, attribute: str) -> DTensor:
        if not isinstance(self, DTensor):
            raise RuntimeError(f"Only global tensors have '{attribute}'; to_global(placement, sbp) makes one")
        return self

    def _whole(self) -> torch.Tensor:
        """The detached values as one local tensor on this process."""
        values = self.detach()
        return values.full_tensor() if isinstance(values, DTensor) else values

    def to_global(
        self,
        placement: placements.placement | None = None,
        sbp: sbp_module.Layout | None = None,
        *,
        grad_sbp: sbp_module.Layout | None = None,
        check_meta: bool = True,
        copy: bool = False,
    ) -> Any:
        """A global tensor with this as the process's piece, or a global tensor in another layout.

        Args:
            check_meta: False promises that all pieces have one shape and data type, which saves a message per split.

        Raises:
            RuntimeError: a local tensor without placement or sbp; a split over a dimension that does not exist.
            TypeError: a placement or an sbp of another kind.
        """
        if placement is not None and not isinstance(placement, placements.placement):
            raise TypeError(f"placement must be a oneflow.placement, got {placement!r}")
        if isinstance(self, DTensor):
            mesh = self.device_mesh if placement is None else placement.mesh
            layout = self.placements if sbp is None else sbp_module.placements(sbp, mesh.ndim, self.dim())
            with torch._C.DisableTorchFunctionSubclass():
                return dress(global_tensor.relayout(self, mesh, layout))
        if placement is None or sbp is None:
            missing = "placement" if placement is None else "sbp"
            raise RuntimeError(f"to_global of a local tensor needs a placement and an sbp, and {missing} was not given")
        mesh = placement.mesh
        layout = sbp_module.placements(sbp, mesh.ndim, self.dim())
        return dress(global_tensor.from_local(self._brought(mesh, layout), mesh, layout, alike=not check_meta))

    def _brought(self, mesh: DeviceMesh, layout: Iterable[Placement]) -> torch.Tensor:
        """A local tensor as it enters a global one. For `broadcast`, the first process's values are used on all processes,
        and only this process gets gradients."""
        values = self.as_subclass(torch.Tensor)
        place = mesh.get_coordinate() or [1] * mesh.ndim  # a process outside of the mesh is not the first
        if values.requires_grad and any(at and kind.is_replicate() for at, kind in zip(place, layout, strict=True)):
            # The hook is on a view: on the program's tensor it would change all other gradients as well.
            values = values.view_as(values)
            values.register_hook(torch.zeros_like)
        return values

    def local_to_global(
        self, placement: placements.placement | None = None, sbp: sbp_module.Layout | None = None, **keywords: Any
    ) -> Any:
        if self.is_global:
            raise RuntimeError("local_to_global takes a local tensor; global_to_global a global one")
        return self.to_global(placement, sbp, **keywords)

    def global_to_global(
        self, placement: placements.placement | None = None, sbp: sbp_module.Layout | None = None, **keywords: Any
    ) -> Any:
        if self.is_local:
            raise RuntimeError("global_to_global takes a global tensor; local_to_global a local one")
        return self.to_global(placement, sbp, **keywords)

    def to_local(self, **_keywords: Any) -> Any:
        """This process's piece."""
        if not isinstance(self, DTensor):
            raise RuntimeError("Expected global tensor for to_local but got local tensor!")
        if self.device_mesh.get_coordinate() is None:
            return dress(torch.zeros([0] * self.dim(), dtype=torch_dtype(self)))
        return dress(global_tensor.to_local(self))

    def to_consistent(self, *_arguments: Any, **_keywords: Any) -> Any:
        raise RuntimeError(".to_consistent has been removed, please use .to_global instead")


def placed(whole: torch.Tensor, place: placements.placement | None, sbp: sbp_module.Layout | None) -> Any:
    """A local tensor, or its global tensor on a placement."""
    if place is None and sbp is None:
        return dress(whole)
    assert place is not None, "a global tensor needs a placement beside its sbp"
    assert sbp is not None, "a global tensor needs an sbp beside its placement"
    mesh = place.mesh
    return dress(global_tensor.from_whole(whole, mesh, sbp_module.placements(sbp, mesh.ndim, whole.dim())))
