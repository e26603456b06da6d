"""`paddle.fluid.layers`."""

from .functions import *  # noqa: F403
