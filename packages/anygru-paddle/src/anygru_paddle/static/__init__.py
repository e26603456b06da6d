"""`paddle.static`: the description of inputs; graphs that are built before they run are not covered."""

from ..tensor.parameter import create_parameter
from .input import *
from .program import *
