"""`paddle.fluid.layers`."""

from .decoding import *
from .functions import *
