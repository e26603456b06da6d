"""`paddle.nn.initializer`."""

from .initializer import *
