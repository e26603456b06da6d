"""Where torch's own code is let in on tensors of the dialect: the seams, each one explicit.

Every caller sees Paddle's attributes of a tensor; these changes make torch's functions, optimizers and
DistributedDataParallel work with them. Two methods of `torch.optim.Optimizer` do not: `load_state_dict` passes a parameter's
dtype on to torch, and
`zero_grad` sets gradients to None, which Paddle's users may not. While one of them runs, tensors answer in torch's words.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import ParamSpec, TypeVar

import torch
from torch._C._dynamo import eval_frame

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _Words(threading.local):
    are_torchs = False


words = _Words()


@contextlib.contextmanager
def seen_by_torch() -> Iterator[None]:
    """Within the block, in this thread, `dtype` is torch's and `grad = None` clears a gradient."""
    before, words.are_torchs = words.are_torchs, True
    try:
        yield
    finally:
        words.are_torchs = before


def _in_torchs_words(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    @functools.wraps(method)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with seen_by_torch():
            return method(*args, **kwargs)

    return call


def not_traced(function: FunctionType) -> None:
    """Let torch.compile run a function eagerly, without inspecting its arguments: they are not torch's tensors."""
    code = function.__code__
    if hasattr(eval_frame, "skip_code"):  # torch 2.6
        eval_frame.skip_code(code)
    else:
        action = eval_frame._FrameAction
        eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))


for _name in ("load_state_dict", "zero_grad"):
    setattr(torch.optim.Optimizer, _name, _in_torchs_words(getattr(torch.optim.Optimizer, _name)))
