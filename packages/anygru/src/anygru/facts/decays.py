"""Resets and decays of the state, from the caller's form of batch to the inner one.

Both are factors of the state before a step: a reset is a factor of 0. Inside there is one tensor, `[L*D, T, B, H]`, or
`[L*D, N, H]` for packed rows; its first dimension may be 1 (the same for all layers and directions), its last too (the same for
all hidden units).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from ..errors import ArgumentError, ArgumentTypeError
from .modifiers import Modifiers
from .sequences import Rows
from .weights import Layout

PerStep: TypeAlias = Tensor | Sequence[Tensor] | PackedSequence
"""Values for each step, in the form of the input."""
Align: TypeAlias = Callable[[PerStep, str], Tensor]
"""From the caller's form [..., F] to the inner one [T, B, F] or [N, F]; the text names the argument in errors."""


def join(
    resets: PerStep | None,
    decay: PerStep | None,
    align: Align,
    layout: Layout,
    hidden_size: int,
    like: Tensor,
    step_dimensions: int,
) -> Tensor | None:
    """The factors of a call in the inner form, or None if there are none; dtype and device of `like`.

    Args:
        step_dimensions: of a decay that is one tensor, the dimensions between the first (L*D) and the last (H): 2 for [T, B].

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.
    """
    factors = None
    if resets is not None:
        kept = align(_each(resets, "resets", _from_resets), "resets").logical_not()
        factors = kept.to(like.device, like.dtype).unsqueeze(0)
    if decay is not None:
        checked = partial(_from_decay, layout, hidden_size, like, step_dimensions)
        rows = align(_each(decay, "decay", checked), "decay")
        decayed = rows.unflatten(-1, (layout.states, -1)).movedim(-2, 0)
        factors = decayed if factors is None else factors * decayed
    return factors


def to_rows(modifiers: Modifiers, rows: Rows) -> Modifiers:
    """Modifiers of a padded batch [T, B, I] as those of its packed rows."""

    def packed(factors: Tensor | None) -> Tensor | None:
        if factors is None or factors.numel() == 1:
            return None if factors is None else factors.view(1, 1, 1)
        flat = rows.align(factors.movedim(0, -2).flatten(-2), "decay")
        split: Tensor = flat.unflatten(-1, (factors.shape[0], factors.shape[-1]))
        return split.movedim(-2, 0)

    mask = None if modifiers.mask is None else rows.sort_state(modifiers.mask)
    decay, candidate, zoneout = map(packed, modifiers[:3])
    return Modifiers(decay, candidate, zoneout, mask)


def _each(values: PerStep, name: str, work: Callable[[Tensor, str, bool], Tensor]) -> PerStep:
    """The work on each tensor of the values; its last argument is whether there is a batch dimension."""
    if isinstance(values, PackedSequence):
        return PackedSequence(work(values.data, name, False), values.batch_sizes, values.sorted_indices)
    if isinstance(values, Tensor) and values.is_nested:
        values = values.unbind()
    if isinstance(values, Tensor):
        return work(values, name, True)
    if not isinstance(values, (list, tuple)):
        raise ArgumentTypeError(f"{name} must have the form of the input, got {type(values).__name__}")
    for index, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"{name}[{index}] must be a tensor, got {type(value).__name__}")
    return [work(value, f"{name}[{index}]", False) for index, value in enumerate(values)]


def _from_resets(values: Tensor, name: str, batched: bool) -> Tensor:
    if values.dtype is not torch.bool:
        raise ArgumentTypeError(f"{name} must be bool, got {values.dtype}")
    return values.unsqueeze(-1)


def _from_decay(
    layout: Layout, hidden_size: int, like: Tensor, step_dimensions: int, values: Tensor, name: str, batched: bool
) -> Tensor:
    """[..., H or 1] for one state, or [L*D, ..., H or 1], as [..., L*D * (H or 1)]."""
    if values.dtype is not like.dtype or values.device != like.device:
        raise ArgumentTypeError(
            f"{name} must be {like.dtype} on {like.device} as input is, got {values.dtype} on {values.device}"
        )
    steps, states, came = step_dimensions if batched else 1, layout.states, list(values.shape)
    if values.dim() == steps + 1 and states == 1:
        values = values.unsqueeze(0)
    if values.dim() != steps + 2 or values.shape[0] != states or values.shape[-1] not in (1, hidden_size):
        leading = "" if states == 1 else f"{states}, "
        raise ArgumentError(
            f"{name} must be [{leading}..., {hidden_size}] or [{leading}..., 1] (L*D = {states}, H = {hidden_size}), "
            f"got {came}"
        )
    return values.movedim(0, -2).flatten(-2)
