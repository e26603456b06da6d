"""`paddle.fluid.layers`: conditions, loops and lists of tensors, which a dynamic graph runs as plain Python."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...tensor.array import array_length, array_read, array_write, create_array

__all__ = ["array_length", "array_read", "array_write", "case", "cond", "create_array", "switch_case", "while_loop"]

Branch = Callable[[], Any] | None


def cond(pred: torch.Tensor, true_fn: Branch = None, false_fn: Branch = None, name: str | None = None) -> Any:
    """The result of the branch that `pred` chooses; None without a function."""
    chosen = true_fn if bool(pred) else false_fn
    return None if chosen is None else chosen()


def case(
    pred_fn_pairs: Sequence[tuple[torch.Tensor, Callable[[], Any]]], default: Branch = None, name: str | None = None
) -> Any:
    """The result of the function of the first true condition; without one the default, or the last function."""
    for condition, function in pred_fn_pairs:
        if bool(condition):
            return function()
    return pred_fn_pairs[-1][1]() if default is None else default()


def switch_case(branch_index: torch.Tensor, branch_fns: Any, default: Branch = None, name: str | None = None) -> Any:
    """The result of the function of that number; without one the default, or the function of the largest number."""
    pairs = isinstance(branch_fns, dict) or isinstance(branch_fns[0], tuple)
    functions = dict(branch_fns if pairs else enumerate(branch_fns))
    return functions.get(int(branch_index), default or functions[max(functions)])()


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, is_test: bool = False, name: str | None = None
) -> Any:
    """The variables after calling `body` on them for as long as `cond` of them holds."""
    while bool(cond(*loop_vars)):
        result = body(*loop_vars)
        loop_vars = result if isinstance(result, (list, tuple)) else [result]
    return loop_vars
