"""`paddle.metric`."""

from .metrics import *  # noqa: F403
