"""`mx.nd.contrib`: loops, and other functions for recurrent networks."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from ..context import Context, current_context
from .array import wrap
from .ndarray import NDArray
from .register import FUNCTIONS
from .updates import CONTRIB

globals().update(
    {name.removeprefix("_contrib_"): each for name, each in FUNCTIONS.items() if name.startswith("_contrib_")}
)
adamw_update, mp_adamw_update = CONTRIB["adamw_update"], CONTRIB["mp_adamw_update"]
multi_adamw_update, multi_mp_adamw_update = CONTRIB["multi_adamw_update"], CONTRIB["multi_mp_adamw_update"]
multi_lamb_update, multi_mp_lamb_update = CONTRIB["multi_lamb_update"], CONTRIB["multi_mp_lamb_update"]


def _zipfian(uniform: Callable[..., Any], true_classes: Any, num_sampled: int, range_max: int) -> tuple[Any, Any, Any]:
    """`rand_zipfian` for arrays or symbols. The first argument is a function that draws uniform numbers."""
    span = math.log(range_max + 1)
    sampled = (uniform(0, span, shape=(num_sampled,), dtype="float64").exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> Any:
        reals = classes.astype("float64")
        return ((reals + 2.0) / (reals + 1.0)).log() / span * num_sampled

    return sampled, expected(true_classes), expected(sampled)


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from an approximately log-uniform distribution, for a sampled softmax.

    Args:
        true_classes: the correct classes. num_sampled: the number of draws. range_max: the number of classes, the most frequent
            first. ctx: the context; by default the current one.

    Returns:
        The drawn classes (int64), and the expected counts of the correct and of the drawn classes (float64).
    """
    ctx = ctx or current_context()
    draw = partial(FUNCTIONS["_random_uniform"], ctx=ctx)
    return _zipfian(lambda low, high, **kind: draw(low=low, high=high, **kind), true_classes, num_sampled, range_max)


def foreach(body: Callable, data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Call `body(slice, states)` on each slice of the first axis. Returns the stacked outputs and the last states."""
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


def while_loop(
    cond: Callable, func: Callable, loop_vars: Any, max_iterations: int | None = None, name: str = "while_loop"
) -> tuple[Any, Any]:
    """Call `func(*variables)` while `cond(*variables)` is not zero, at most `max_iterations` times.

    Returns:
        The stacked outputs of the steps, with rows of zeros for missing steps (undefined in MXNet), and the last variables.

    Raises:
        ValueError: without `max_iterations`, and without variables.
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    many = isinstance(loop_vars, (list, tuple))
    variables = list(loop_vars) if many else [loop_vars]
    if not variables:
        raise ValueError("loop_vars should contain at least one element")
    steps: list[list[NDArray]] = []
    single = False
    while len(steps) < max_iterations and bool(cond(*variables).asscalar()):
        output, following = func(*variables)
        single = isinstance(output, NDArray)
        steps.append([output] if single else list(output or []))
        variables = list(following) if isinstance(following, (list, tuple)) else [following]
    rest = max_iterations - len(steps)
    outputs = [
        FUNCTIONS["stack"](*part, *[part[0].zeros_like() for _ in range(rest)]) for part in zip(*steps, strict=True)
    ]
    return outputs[0] if single else outputs, variables if many else variables[0]


def cond(pred: NDArray, then_func: Callable, else_func: Callable, name: str = "cond") -> Any:
    """The result of `then_func` if the number `pred` is not zero, otherwise of `else_func`."""
    return then_func() if bool(pred.asscalar()) else else_func()


def allclose(
    a: NDArray, b: NDArray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True, name: str | None = None
) -> NDArray:
    """1 if all elements are close to each other; 0 otherwise; without axes, as in MXNet 1.9.1 (recorded)."""
    # `equal_nan` is True here and False in torch and NumPy.
    close = torch.allclose(a._t, b._t.to(a._t.dtype), rtol, atol, equal_nan)
    return wrap(torch.tensor(close, dtype=torch.uint8, device=a._t.device), a._ctx)


def isnan(data: NDArray) -> NDArray:
    """1 where an element is not a number."""
    return data != data


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite."""
    return wrap(torch.isinf(data._t).to(data._t.dtype), data._ctx)


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is a finite number."""
    return wrap(torch.isfinite(data._t).to(data._t.dtype), data._ctx)
