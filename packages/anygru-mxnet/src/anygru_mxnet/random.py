"""`mx.random`: the seed, and `mx.nd.random` under its shorter name."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

import torch

from .context import ContextLike
from .ndarray.random import *
from .ndarray.random import __all__ as _draws

__all__ = ["seed", *_draws]


def seed(seed_state: int, ctx: ContextLike = "all") -> None:
    """Seed the random numbers of every device, those of layers, initializers and dropout included.

    Raises:
        ValueError: for a seed that is no whole number.
    """
    if not isinstance(seed_state, int):
        raise ValueError("seed_state must be int")
    # torch has one seed for all devices, so that `ctx` changes nothing; MXNet 1.9.1 seeds its device alone (its docstring).
    torch.manual_seed(seed_state)
