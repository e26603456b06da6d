"""`mx.nd.contrib`: what GRU users take from it."""

from collections.abc import Callable
from typing import Any

from grus.dialects import refuser

from .ndarray import NDArray
from .register import FUNCTIONS

boolean_mask = FUNCTIONS["_contrib_boolean_mask"]
arange_like = FUNCTIONS["_contrib_arange_like"]
ctc_loss = CTCLoss = FUNCTIONS["CTCLoss"]


def foreach(body: Callable, data: Any, init_states: Any) -> tuple[Any, Any]:
    """Call `body(slice, states)` on each slice of the first axis; the outputs stacked, and the last states."""
    many = isinstance(data, (list, tuple))
    columns = list(data) if many else [data]
    outputs, states = [], init_states
    for i in range(len(columns[0])):
        parts = [column[i] for column in columns]
        output, states = body(parts if many else parts[0], states)
        outputs.append(output)
    if isinstance(outputs[0], NDArray):
        return FUNCTIONS["stack"](*outputs), states
    return [FUNCTIONS["stack"](*part) for part in zip(*outputs, strict=True)], states


def isnan(data: NDArray) -> NDArray:
    """1 where an element is not a number."""
    return data != data


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite."""
    return abs(data) == float("inf")


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is a finite number."""
    return (data == data) * (abs(data) != float("inf"))


__getattr__ = refuser("mxnet", "mxnet.ndarray.contrib", {"while_loop": "a Python loop", "cond": "an if statement"})
