"""`mx.random`: the seed, and `mx.nd.random` under its shorter name."""
# ruff: noqa: F403 (this module re-exports names)

import torch

from .base import integer_types
from .context import ContextLike, as_context
from .ndarray.random import *
from .ndarray.random import __all__ as _draws
from .operators.generator import generator

__all__ = ["seed", *_draws]


def seed(seed_state: int, ctx: ContextLike = "all") -> None:
    """Seed the random numbers of every device, including layers, initializers and dropout.

    Raises:
        ValueError: for a seed that is not a whole number.
    """
    if not isinstance(seed_state, integer_types):
        raise ValueError("seed_state must be int")
    # All CPU contexts share one generator, as in MXNet. On GPUs torch draws the numbers.
    if ctx == "all" or as_context(ctx).device_typeid != 2:
        generator.seed(int(seed_state))
    torch.manual_seed(int(seed_state))
