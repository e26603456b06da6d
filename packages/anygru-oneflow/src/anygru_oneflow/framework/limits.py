"""Values between limits, which OneFlow rounds toward zero for whole numbers."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from .dressing import torch_dtype
from .tensor import Tensor

__all__ = ["clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_"]


def _limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function (input, min, max) of torch for floating point and whole numbers, which stay whole."""

    @wraps(function)
    def call(input: Tensor, min: Any = None, max: Any = None) -> Any:
        known = torch_dtype(input)
        if known is torch.bool:
            raise NotImplementedError(f"{function.__name__}: only of floating point or whole numbers, got bools")
        if not known.is_floating_point:
            min, max = (int(limit) if isinstance(limit, float) else limit for limit in (min, max))
        return function(input, min, max)

    return call


clamp = clip = _limited(torch.clamp)
clamp_ = clip_ = _limited(torch.clamp_)


def clamp_min(input: Tensor, min: Any) -> Any:
    """The values, or the limit where they are less."""
    return clamp(input, min)


def clamp_max(input: Tensor, max: Any) -> Any:
    """The values, or the limit where they are greater."""
    return clamp(input, None, max)


def clamp_min_(input: Tensor, min: Any) -> Any:
    """Put the limit where the values are less."""
    return clamp_(input, min)


def clamp_max_(input: Tensor, max: Any) -> Any:
    """Put the limit where the values are greater."""
    return clamp_(input, None, max)


for _name in __all__:
    setattr(Tensor, _name, globals()[_name])
