"""`paddle.metric`."""

from .metrics import *
