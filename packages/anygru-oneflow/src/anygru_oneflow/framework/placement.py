"""`oneflow.placement`: the processes that hold a global tensor, and their kind of device."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch.distributed.device_mesh import DeviceMesh

from anygru.parallel import world

from ..processes import global_tensor
from .dtype import Size


class placement:
    """A device type and an array of ranks, such as `placement("cpu", ranks=[0, 1])`; torch's DeviceMesh underneath."""

    def __init__(self, type: str, ranks: Sequence[Any] | np.ndarray) -> None:
        if type not in ("cpu", "cuda"):
            raise RuntimeError(f"placement type must be 'cpu' or 'cuda', got {type!r}")
        self.type = type
        given = np.asarray(ranks)
        if given.dtype.kind not in "iu":
            raise RuntimeError(f"placement ranks must be an array of whole numbers, got {ranks}")
        self.ranks = given.astype(np.int64)
        if np.unique(self.ranks).size < self.ranks.size:
            raise RuntimeError(f"placement ranks must be different, got {ranks}")
        size = world().size
        if self.ranks.size == 0 or self.ranks.min() < 0 or self.ranks.max() >= size:
            raise RuntimeError(f"placement ranks must be among the ranks 0 to {size - 1} of this job, got {ranks}")

    @staticmethod
    def all(type: str) -> "placement":
        """All processes of the job."""
        return placement(type, range(world().size))

    @property
    def mesh(self) -> DeviceMesh:
        """torch's name for it. Connects the processes."""
        return global_tensor.mesh(self.type, self.ranks)

    @property
    def hierarchy(self) -> Size:
        warnings.warn("The property .hierarchy of placement is deprecated, please use .ranks.shape instead")
        return Size(self.ranks.shape)

    @property
    def device_type(self) -> str:
        warnings.warn("The property .device_type of placement is deprecated, please use .type instead")
        return self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, placement) and self.type == other.type and np.array_equal(self.ranks, other.ranks)

    def __hash__(self) -> int:
        return hash((self.type, self.ranks.tobytes()))

    def __repr__(self) -> str:
        return f'oneflow.placement(type="{self.type}", ranks={self.ranks.tolist()})'


def of_mesh(known: DeviceMesh) -> placement:
    """OneFlow's name for torch's mesh."""
    return placement(known.device_type, known.mesh.numpy())
