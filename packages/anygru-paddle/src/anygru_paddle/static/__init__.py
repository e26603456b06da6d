"""`paddle.static`: the description of inputs; graphs that are built before they run are not covered."""

from ..tensor.parameter import create_parameter
from ..tensor.tensor import Tensor as Variable  # the class of tensors of a dynamic graph in 2.6.2 (recorded)
from .input import *
from .program import *
