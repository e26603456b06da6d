"""Gradient clipping, for the `grad_clip` of optimizers."""

from collections.abc import Iterable
from typing import Any

import torch

from ..tensor.operation import wrap

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]

Pairs = list[tuple[Any, torch.Tensor]]


def clip_by_norm(x: torch.Tensor, max_norm: float, name: str | None = None) -> torch.Tensor:
    """`x` scaled down to the norm `max_norm` where its own is larger."""
    length = torch.linalg.vector_norm(x)
    return wrap(torch.where(length > max_norm, x * (max_norm / length), x))


class ClipGradBase:
    """The clipper that optimizers call with (parameter, gradient) pairs before a step."""

    def __call__(self, params_grads: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The pairs with clipped gradients; gradients of parameters with `need_clip=False`, and None, unchanged."""
        pairs = list(params_grads)
        chosen = [
            index for index, (param, grad) in enumerate(pairs) if grad is not None and getattr(param, "need_clip", True)
        ]
        with torch.no_grad():
            clipped = self._clip([(pairs[index][0], pairs[index][1]) for index in chosen])
        for index, grad in zip(chosen, clipped, strict=True):
            pairs[index] = (pairs[index][0], wrap(grad))
        return pairs

    def _clip(self, pairs: Pairs) -> list[torch.Tensor]:
        raise NotImplementedError


class ClipGradByValue(ClipGradBase):
    """Every element held between `min` (-max) and `max`."""

    def __init__(self, max: float, min: float | None = None) -> None:
        if min is None:
            if max <= 0:
                raise AssertionError(f"ClipGradByValue: max must be above 0 where min is not given, got {max}")
            min = -max
        self.max, self.min = float(max), float(min)

    def _clip(self, pairs: Pairs) -> list[torch.Tensor]:
        return [torch.clamp(grad, self.min, self.max) for _, grad in pairs]

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"


class ClipGradByNorm(ClipGradBase):
    """Every gradient with a norm above `clip_norm` scaled down to it."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def _clip(self, pairs: Pairs) -> list[torch.Tensor]:
        if self.clip_norm <= 0:
            raise ValueError(
                f"(InvalidArgument) max_norm should be greater than 0. Received max_norm is {self.clip_norm:f}."
            )
        out = []
        for _, grad in pairs:
            norm = torch.linalg.vector_norm(grad)
            out.append(torch.where(norm > self.clip_norm, torch.mul(grad, self.clip_norm / norm), grad))
        return out

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients scaled down together if the norm of all is above `clip_norm`."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        if not isinstance(auto_skip_clip, bool):
            raise AssertionError(f"auto_skip_clip must be a bool, got {type(auto_skip_clip).__name__}")
        self.clip_norm, self.group_name, self.auto_skip_clip = float(clip_norm), group_name, auto_skip_clip

    def _clip(self, pairs: Pairs) -> list[torch.Tensor]:
        if not pairs:
            return []
        norm = torch.sqrt(
            sum((torch.sum(torch.square(grad)) for _, grad in pairs), torch.zeros((), device=pairs[0][1].device))
        )
        # Without the 1e-6 that torch's clip_grad_norm_ and Paddle's function of that name add to the norm.
        factor = self.clip_norm / torch.clamp(norm, min=self.clip_norm)
        return [torch.mul(grad, factor) for _, grad in pairs]

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"
