"""Inputs that change a step (decay, masks, zoneout), in the form that backends take.

With h the state before a step and d, o, c, k, m the values of a call that has them:

    h <- d * h + o                   decay: resets, GRU-D; offset: the state that a reset goes to
    every product reads m * h        mask: recurrent dropout after Gal and Ghahramani
    n <- c * n                       candidate: recurrent dropout after Semeniuta et al.
    h' = k * h + (1 - k) * h'        zoneout: keeps the share k of the old state

A gradient goes to the decay and the offset; the others are drawn at random, or constant.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from . import torch_private


class Modifiers(NamedTuple):
    """Tensors, or None for an input that the call does not have.

    Factors are [S, T, B, W], for packed rows [S, N, W]: S is L*D, or 1 for all layers and directions alike; W is H, or 1 for
    all hidden units alike. A zoneout of one element is the same everywhere.
    """

    decay: Tensor | None = None
    candidate: Tensor | None = None
    zoneout: Tensor | None = None
    mask: Tensor | None = None
    """[L*D, B, H]"""
    offset: Tensor | None = None
    """Goes with a decay."""

    def names(self) -> tuple[str, ...]:
        """The names of the modifiers that are given."""
        return tuple([name for name, value in zip(self._fields, self, strict=True) if value is not None])

    def present(self) -> tuple[Tensor, ...]:
        return tuple([value for value in self if value is not None])

    @classmethod
    def of(cls, names: Sequence[str], tensors: Iterable[Tensor]) -> "Modifiers":
        """The inverse of `names` and `present`."""
        return cls(**dict(zip(names, tensors, strict=True)))

    def of_states(self, states: slice) -> "Modifiers":
        """The modifiers of some layers and directions."""
        return Modifiers(*(value if value is None or len(value) == 1 else value[states] for value in self))

    def of_groups(self, groups: int, states: int) -> "Modifiers":
        """Split the modifiers of each layer and direction into `groups` smaller ones; the mask does not change."""
        if groups == 1 or not self.names():
            return self

        def split(values: Tensor | None) -> Tensor | None:
            if values is None or values.numel() == 1 or (len(values) == 1 and values.shape[-1] == 1):
                return values
            values = values.expand(states, *values.shape[1:])
            if values.shape[-1] == 1:
                return values.repeat_interleave(groups, 0)
            parts: Tensor = values.unflatten(-1, (groups, -1)).movedim(-2, 1)
            return parts.flatten(0, 1)

        decay, candidate, zoneout, mask, offset = self
        return Modifiers(split(decay), split(candidate), split(zoneout), mask, split(offset))

    def like(self, input: Tensor) -> "Modifiers":
        """In the dtype of the input."""
        return Modifiers(*(value if value is None else value.to(input.dtype) for value in self))


NONE = Modifiers()


_FEW = 4096
"""From this count on, numbers are drawn from random bits, which is faster than `bernoulli_`."""


DropoutOn: TypeAlias = Literal["state", "candidate"]


class Noise(NamedTuple):
    """A layer's zoneout and recurrent dropout; see `functional.gru`."""

    zoneout: float = 0.0
    recurrent_dropout: float = 0.0
    on: DropoutOn = "state"
    training: bool = False

    def names(self) -> tuple[str, ...]:
        """The modifiers that a call gets from it."""
        dropped = "mask" if self.on == "state" else "candidate"
        found = {dropped: self.training and self.recurrent_dropout > 0, "zoneout": self.zoneout > 0}
        return tuple(name for name in Modifiers._fields if found.get(name))

    def draw(self, modifiers: Modifiers, input: Tensor, states: int, batch: int, hidden_size: int) -> Modifiers:
        """The modifiers of a call on [T, B, I] or packed rows [N, I], drawn from torch's generator."""
        each = (states, *input.shape[:-1], hidden_size)
        if self.zoneout and self.training:
            modifiers = modifiers._replace(zoneout=_draw(input, each, self.zoneout))
        elif self.zoneout:
            modifiers = modifiers._replace(zoneout=input.new_full((1,) * len(each), self.zoneout))
        if not self.training or not self.recurrent_dropout:
            return modifiers
        kept = 1.0 - self.recurrent_dropout
        fixed = self.on == "state"
        mask = _draw(input, (states, batch, hidden_size) if fixed else each, kept)
        mask = mask.div_(kept) if kept else mask
        return modifiers._replace(mask=mask) if fixed else modifiers._replace(candidate=mask)


def _draw(like: Tensor, shape: Sequence[int], probability: float) -> Tensor:
    """1 with this probability (to a part in 2^32); 0 otherwise."""
    values = like.new_empty(shape)
    count = values.numel()
    wrapped = torch.compiler.is_compiling() or torch_private.transform() is not None
    if like.device.type != "cpu" or wrapped or count < _FEW:
        return values.bernoulli_(probability)
    # torch draws 64 random bits in less time than one bernoulli number, and they make two.
    bits = (
        torch.empty((count + 1) // 2, dtype=torch.int64, device="cpu").random_(-(2**63), None).view(torch.int32)[:count]
    )
    threshold = round(probability * 2**32) - 2**31
    if threshold >= 2**31:
        return values.fill_(1)
    return values.copy_((bits < threshold).view(shape))
