"""Tensors shared with other libraries by DLPack, with torch's functions."""

from typing import Any

import torch

from ..tensor.operation import plain, wrap

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(x: torch.Tensor) -> Any:
    """A capsule that holds the tensor's memory."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"The type of 'x' in to_dlpack must be paddle.Tensor, but received {type(x)}.")
    return torch.utils.dlpack.to_dlpack(plain(x.detach()))  # type: ignore[attr-defined]


def from_dlpack(dlpack: Any) -> torch.Tensor:
    """The tensor of a capsule's memory."""
    if type(dlpack).__name__ != "PyCapsule":
        raise TypeError(f"The type of 'dlpack' in from_dlpack must be PyCapsule object, but received {type(dlpack)}.")
    return wrap(torch.utils.dlpack.from_dlpack(dlpack))
