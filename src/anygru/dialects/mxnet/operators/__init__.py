"""Every operator of the dialect, one topic a file."""

from . import (
    control_flow,
    convolution,
    create,
    elementwise,
    index,
    linalg,
    losses,
    neural,
    pictures_and_densities,
    random,
    recurrent,
    reduce,
    shape,
    update_operators,
)
from .registry import OPERATORS, Operator

__all__ = ["OPERATORS", "Operator"]
