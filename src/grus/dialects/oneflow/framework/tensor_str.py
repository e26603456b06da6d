"""How OneFlow prints a tensor: torch's digits, with the data type always shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import _tensor_str

from . import graph_names

if TYPE_CHECKING:
    from .tensor import Tensor

PREFIX = "tensor("


def text(tensor: Tensor) -> str:
    """What `repr` shows."""
    suffixes = []
    if tensor.is_global:
        suffixes += [f"placement={tensor.placement}", f"sbp={tensor.sbp}"]
    elif tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if tensor.numel():
        values = tensor._whole().cpu()
        digits = _digits(values.as_subclass(torch.Tensor))
    else:
        digits = "[]"
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
    suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{graph_names.name_of(tensor)}>")
    elif tensor.requires_grad:
        # A leaf that has taken part in a computation shows the step that adds up its gradient.
        suffixes.append("requires_grad=True" if tensor.grad is None else "grad_fn=<accumulate_grad>")
    return _tensor_str._add_suffixes(PREFIX + digits, suffixes, len(PREFIX), force_newline=False)


def _digits(values: torch.Tensor) -> str:
    """The values as torch writes them; with an infinite one among them OneFlow goes over to powers of ten."""
    if values.dim() and values.is_floating_point() and values.isinf().any() and values.isfinite().any():
        with _tensor_str.printoptions(sci_mode=True):
            return _tensor_str._tensor_str(values, len(PREFIX))
    return _tensor_str._tensor_str(values, len(PREFIX))


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """As torch.set_printoptions, which it sets."""
    options: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
        "profile": profile,
        "sci_mode": sci_mode,
    }
    torch.set_printoptions(**options)
