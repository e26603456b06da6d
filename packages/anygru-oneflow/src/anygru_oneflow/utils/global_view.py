"""Nested tensors to and from layouts over processes."""

import warnings
from typing import Any

from ..framework.placement import placement
from ..framework.tensor import Tensor
from ..nn.modules.graph_block import mapped
from ..sbp import Layout

__all__ = ["to_global", "to_local"]


def to_global(
    input: Any,
    placement: placement | None = None,
    sbp: Layout | None = None,
    warn_on_non_tensor_leaf: bool = True,
    **options: Any,
) -> Any:
    """Every tensor in nested lists, tuples and dicts, or in a state_dict, as a global one."""

    def change(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return leaf.to_global(placement, sbp, **options)
        if warn_on_non_tensor_leaf:
            warnings.warn(
                f"to_global: a leaf is not a tensor but a {type(leaf).__name__}; it is not changed", stacklevel=2
            )
        return leaf

    return mapped(change, input)


def to_local(input: Any, *, copy: bool = False) -> Any:
    """Every global tensor in nested lists, tuples and dicts as this process's piece."""

    def change(leaf: Any) -> Any:
        return leaf.to_local() if isinstance(leaf, Tensor) and leaf.is_global else leaf

    return mapped(change, input)
