"""Optimizers."""

from .adam import *  # noqa: F403
from .rules import *  # noqa: F403
