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
from .arguments import is_shape
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
    reset_states: PerStep | None,
    align: Align,
    sizes: tuple[Layout, int],
    like: Tensor,
    step_dimensions: int,
) -> Modifiers:
    """The decay of a call and the states that its resets go to, in the inner form; dtype and device of `like`.

    Args:
        sizes: the layout of the weights, and H.
        step_dimensions: of a decay that is one tensor, the dimensions between the first (L*D) and the last (H): 2 for [T, B].

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.
    """
    factors = offset = None
    layout, hidden_size = sizes

    def inner(values: PerStep, name: str, widths: tuple[int, ...]) -> Tensor:
        checked = partial(_from_decay, layout, widths, like, step_dimensions)
        rows = align(_each(values, name, checked), name)
        split: Tensor = rows.unflatten(-1, (layout.states(), -1))
        return split.movedim(-2, 0)

    if resets is not None:
        kept = align(_each(resets, "resets", _from_resets), "resets").logical_not().unsqueeze(0).to(like.device)
        factors = kept.to(like.dtype)
        if reset_states is not None:
            if isinstance(reset_states, Tensor) and is_shape(reset_states.shape, (layout.states(), 1, hidden_size)):
                _check_like(reset_states, "reset_states", like)
                stored = reset_states.view(layout.states(), *(1,) * (kept.dim() - 2), hidden_size)
            else:
                stored = inner(reset_states, "reset_states", (hidden_size,))
            offset = torch.where(kept, 0.0, stored)
    elif reset_states is not None:
        raise ArgumentError("reset_states goes with resets, got it alone")
    if decay is not None:
        decayed = inner(decay, "decay", (1, hidden_size))
        factors = decayed if factors is None else factors * decayed
    return Modifiers(factors, offset=offset)


def to_rows(modifiers: Modifiers, rows: Rows) -> Modifiers:
    """Pack the modifiers of a padded batch [T, B, I] in the way its rows are packed."""

    def packed(factors: Tensor | None) -> Tensor | None:
        if factors is None or factors.numel() == 1:
            return None if factors is None else factors.view(1, 1, 1)
        flat = rows.align(factors.movedim(0, -2).flatten(-2), "decay")
        split: Tensor = flat.unflatten(-1, (factors.shape[0], factors.shape[-1]))
        return split.movedim(-2, 0)

    decay, candidate, zoneout, mask, offset = modifiers
    mask = None if mask is None else rows.sort_state(mask)
    return Modifiers(packed(decay), packed(candidate), packed(zoneout), mask, packed(offset))


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
    return resets_of(values, name).unsqueeze(-1)


def resets_of(values: Tensor, name: str = "resets") -> Tensor:
    """Resets as bool: environments mark the end of an episode by a bool, a number or a byte, 0 if the episode
    continues.

    Raises:
        ArgumentTypeError: complex numbers.
    """
    if values.is_complex():
        raise ArgumentTypeError(
            f"{name} must be bool, or numbers that are 0 where there is no reset, got {values.dtype}"
        )
    return values if values.dtype is torch.bool else values != 0


def _check_like(values: Tensor, name: str, like: Tensor) -> None:
    if values.dtype is not like.dtype or values.device != like.device:
        raise ArgumentTypeError(
            f"{name} must be {like.dtype} on {like.device} as input is, got {values.dtype} on {values.device}"
        )


def _from_decay(
    layout: Layout,
    widths: tuple[int, ...],
    like: Tensor,
    step_dimensions: int,
    values: Tensor,
    name: str,
    batched: bool,
) -> Tensor:
    """[..., W] for one state, or [L*D, ..., W], as [..., L*D * W], for a W among `widths`."""
    _check_like(values, name, like)
    steps, states, came = step_dimensions if batched else 1, layout.states(), list(values.shape)
    if values.dim() == steps + 1 and states == 1:
        values = values.unsqueeze(0)
    if values.dim() != steps + 2 or values.shape[0] != states or all(values.shape[-1] != width for width in widths):
        leading = "" if states == 1 else f"{states}, "
        forms = " or ".join(f"[{leading}..., {width}]" for width in sorted(widths, reverse=True))
        raise ArgumentError(f"{name} must be {forms} (L*D = {states}, H = {widths[-1]}), got {came}")
    return values.movedim(0, -2).flatten(-2)
