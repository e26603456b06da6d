"""`paddle.callbacks`."""

from .hapi import callbacks as _callbacks
from .hapi.callbacks import *  # noqa: F403

__all__ = _callbacks.__all__
