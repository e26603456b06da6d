"""`paddle.static`: the description of inputs; graphs that are built before they run are not covered."""

from .input import *
from .program import *
