"""Errors of torch's autograd, told apart without knowing their words."""

from functools import cache

import torch


def is_release(error: Exception) -> bool:
    """Whether torch says by this error that backward ran before through a graph which serves once.

    torch has no class for it. After a failed backward the graph cannot be asked either: the steps that ran before the failure
    are released, too. So the error is held against one that is provoked.
    """
    return str(error) == _words()


@cache
def _words() -> str:
    x = torch.ones((), requires_grad=True)
    with torch.enable_grad():
        y = x * x
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("torch differentiates a released graph")
