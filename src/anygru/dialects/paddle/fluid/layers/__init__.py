"""`paddle.fluid.layers`."""

from .functions import *
