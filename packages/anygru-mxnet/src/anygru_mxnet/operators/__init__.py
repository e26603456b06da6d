"""Every operator of the dialect, one topic a file."""

from . import (
    activations,
    arithmetic,
    control_flow,
    convolution,
    create,
    elementwise,
    index,
    linalg,
    losses,
    neural,
    random,
    rare,
    recurrent,
    reduce,
    shape,
    update_operators,
)
from .registry import OPERATORS, Operator

__all__ = ["OPERATORS", "Operator"]
