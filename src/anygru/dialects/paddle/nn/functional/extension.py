"""Masks of sequences."""

from __future__ import annotations

from typing import Any

import torch

from ...framework.dtype import torch_dtype
from ...tensor.creation import diag_embed as diag_embed
from ...tensor.operation import need_tensor, operation

__all__ = ["diag_embed", "sequence_mask"]


@operation
def sequence_mask(x: torch.Tensor, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> torch.Tensor:
    """Ones for the first x steps of `maxlen` (the longest), zeros after, along a new last axis."""
    need_tensor(x, "x", "sequence_mask")
    steps = int(x.max()) if maxlen is None else int(maxlen)
    return torch.lt(torch.arange(steps), torch.unsqueeze(x, -1)).to(torch_dtype(dtype))
