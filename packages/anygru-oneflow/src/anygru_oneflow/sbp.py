"""Layouts of a global tensor on its processes: `split(dim)`, `broadcast`, `partial_sum` (torch: Shard, Replicate, Partial)."""

import warnings
from collections.abc import Sequence

from torch.distributed.tensor import Partial, Placement, Replicate, Shard

__all__ = ["broadcast", "partial_sum", "sbp", "split"]


class sbp:
    """One layout, over one dimension of the placement; `placement` is torch's."""

    def __init__(self, name: str, placement: Placement) -> None:
        self.name = name
        self.placement = placement

    def __call__(self) -> "sbp":
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, sbp) and self.placement == other.placement

    def __hash__(self) -> int:
        return hash(self.placement)

    def __repr__(self) -> str:
        return f"oneflow.sbp.{self.name}"


Layout = sbp | Sequence[sbp]
"""The type of an `sbp=` argument: one for each dimension of the placement."""

broadcast = sbp("broadcast", Replicate())
partial_sum = sbp("partial_sum", Partial("sum"))


def split(dim: int | None = None, **keywords: int) -> sbp:
    """The dimension `dim` is cut into one piece a process. `axis` is its name before 0.8.

    Raises:
        TypeError, AssertionError, RuntimeError: as 0.9.0 does (recorded).
    """
    if dim is None:
        for name, value in keywords.items():
            if name != "axis":
                raise TypeError(f"split_sbp() got an unexpected keyword argument '{name}'.")
            if not isinstance(value, int):
                raise TypeError(f"split_sbp(): parameter must be int, not {type(value)}.")
            warnings.warn(
                "This 'axis' parameter of oneflow.sbp.split() has been updated to 'dim' since OneFlow version 0.8."
            )
            dim = value
    if dim is None:
        raise TypeError("split_sbp() missing 1 required argument: 'dim'.")
    assert isinstance(dim, int), f"sbp.split: dim must be a whole number, got {dim!r}"
    if dim < 0:
        raise RuntimeError(f"Split axis must not be negative, but got {dim}!")
    return sbp(f"split(dim={int(dim)})", Shard(int(dim)))


def of_placement(known: Placement) -> sbp:
    """OneFlow's name for torch's placement."""
    if isinstance(known, Shard):
        return split(known.dim)
    return partial_sum if known.is_partial() else broadcast


def placements(layout: Layout, dimensions: int, tensor_dim: int) -> list[Placement]:
    """torch's placements for an `sbp=` argument.

    Args:
        dimensions: of the placement's ranks.
        tensor_dim: how many dimensions the tensor has.

    Raises:
        TypeError: it is not an sbp.
        RuntimeError: not one layout for each dimension of the placement, or a split of a dimension that does not exist.
    """
    layouts = [layout] if isinstance(layout, sbp) else list(layout)
    for known in layouts:
        if not isinstance(known, sbp):
            raise TypeError(f"sbp must be oneflow.sbp.split(dim), broadcast or partial_sum, got {known!r}")
    if len(layouts) != dimensions:
        raise RuntimeError(f"sbp must have {dimensions} entries, one a dimension of the placement, got {len(layouts)}")
    for known in layouts:
        if isinstance(known.placement, Shard) and known.placement.dim >= tensor_dim:
            raise RuntimeError(
                f"Split axis out of range (expected to be in range of [0, {tensor_dim}), but got {known.placement.dim}!)"
            )
    return [known.placement for known in layouts]
