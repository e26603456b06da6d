"""Masks of sequences."""

from typing import Any

import torch

from ...base.errors import no_kernel
from ...framework.dtype import torch_dtype
from ...tensor.creation import diag_embed as diag_embed
from ...tensor.operation import operation, plain

__all__ = ["diag_embed", "gather_tree", "sequence_mask"]


@operation
def sequence_mask(x: torch.Tensor, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> torch.Tensor:
    """Ones for the first x steps of `maxlen` (the longest), zeros after: lengths [...] give [..., maxlen]."""
    steps = -1 if maxlen is None else int(maxlen)
    if steps < 0:
        steps = int(x.max()) if torch.Tensor.numel(x) else 0
    if steps < 0:
        raise no_kernel(f"(PreconditionNotMet) sequence_mask(): no sequence is {steps} steps long")
    return torch.lt(torch.arange(steps), torch.unsqueeze(x, -1)).to(torch_dtype(dtype))


@operation
def gather_tree(ids: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
    """The tokens of every beam [T, B, beams], from the tokens of each step and the indices of their parent beams.

    Raises:
        ValueError: unless both have three axes.
    """
    if ids.ndim != 3 or list(ids.shape) != list(parents.shape):
        raise ValueError(
            "The input ids and parents must be 3D tensors of one shape [max_time, batch_size, beam_size], got "
            f"{list(ids.shape)} and {list(parents.shape)}"
        )
    tokens, before = plain(ids), plain(parents).to(torch.int64)
    beams = torch.arange(tokens.shape[2], device=tokens.device).expand(tokens.shape[1:])
    found = []
    for step in range(tokens.shape[0] - 1, -1, -1):
        found.append(tokens[step].gather(1, beams))
        beams = before[step].gather(1, beams)
    return torch.stack(found[::-1])
