"""Embeddings."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...configuration import config
from ...functions._checks import expect
from ...variable import Variable


class EmbedIDFunction(TorchFunction):
    def __init__(self, ignore_label: int | None = None) -> None:
        self.ignore_label = ignore_label

    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() == 2)
        x, w = in_types
        expect(x.dtype.kind == "i", x.ndim >= 1, w.dtype.kind == "f", w.ndim == 2)

    def compute(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        ids, ignored = x.long(), None
        if self.ignore_label is not None:
            ignored = ids == self.ignore_label
            ids = torch.where(ignored, 0, ids)
        if config.debug and bool(((ids < 0) | (ids >= len(w))).any()):
            raise ValueError("Each not ignored `x` value need to satisfy `0 <= x < len(W)`")
        ids = torch.where(ids < 0, ids + len(w), ids)
        if ids.numel() and not (int(ids.min()) >= 0 and int(ids.max()) < len(w)):
            raise IndexError(f"embed_id: ids must be below {len(w)}, the number of rows of W, got {int(ids.max())}")
        y = torch.nn.functional.embedding(ids, w)
        return y if ignored is None else y.masked_fill(ignored.unsqueeze(-1), 0)


def embed_id(x: Any, W: Any, ignore_label: int | None = None) -> Variable:
    """The rows of W [V, N] named by int ids x [...], as [..., N]; zeros for `ignore_label`."""
    return EmbedIDFunction(ignore_label).apply((x, W))[0]
