"""`mx.contrib.autograd`: the first form of `mx.autograd`, which programs of 2017 use."""

import functools
from collections.abc import Callable
from typing import Any

from ..autograd import mark_variables, set_recording, set_training
from ..ndarray.gradients import backward as _backward
from ..ndarray.ndarray import NDArray
from ..ndarray.register import FUNCTIONS
from ..state import Scope

__all__ = [
    "TrainingStateScope", "backward", "compute_gradient", "grad", "grad_and_loss", "mark_variables", "set_is_training",
    "test_section", "train_section",
]  # fmt: skip


def set_is_training(is_train: bool) -> bool:
    """Set the flags of recording and of training. Returns the previous flag of recording."""
    set_training(is_train)
    return set_recording(is_train)


class TrainingStateScope(Scope):
    """Sets both flags, recording and training, inside a `with`."""

    def __init__(self, enter_state: bool) -> None:
        super().__init__(bool(enter_state), bool(enter_state))


def train_section() -> TrainingStateScope:
    """Inside `with train_section():` computations are recorded."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """Inside `with test_section():` computations are not recorded."""
    return TrainingStateScope(False)


def backward(outputs: list[NDArray], out_grads: list[NDArray] | None = None, retain_graph: bool = False) -> None:
    """Store the gradients of the outputs in the marked variables."""
    assert isinstance(outputs, (list, tuple)), "outputs must be a list or tuple of NDArrays"
    _backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: list[NDArray]) -> None:
    """`backward`, under its older name."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of `func` with respect to its arguments (by default all), and its result."""

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> tuple[list[NDArray], Any]:
        places = range(len(args)) if argnum is None else argnum if isinstance(argnum, list) else [argnum]
        variables = [args[place] for place in places]
        for variable in variables:
            assert isinstance(variable, NDArray), "type of autograd input should NDArray."
        gradients = [FUNCTIONS["zeros_like"](variable) for variable in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of `func`."""
    both = grad_and_loss(func, argnum)
    return functools.wraps(both)(lambda *args: both(*args)[0])
