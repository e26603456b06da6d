"""`paddle.nn.initializer`."""

from .initializer import *  # noqa: F403
