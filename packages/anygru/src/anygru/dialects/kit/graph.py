"""Recognize the error of a released autograd graph, and detach tensors from a graph."""

from functools import cache

import torch


def is_release(error: Exception) -> bool:
    """Whether this error of torch means a second backward pass through a freed graph.

    torch has no class for it. Nor can the graph be inspected after a failed backward: the steps that ran before the
    failure are also released. So the error is compared with a provoked one.
    """
    return str(error) == _words()


def leave_graph(tensor: torch.Tensor) -> None:
    """Make a tensor a leaf without gradients that keeps its memory.

    `torch.Tensor.detach_` refuses views: there the object takes over the contents of a detached tensor instead.
    """
    if not tensor._is_view():
        torch.Tensor.detach_(tensor)
        return
    detached = torch.Tensor.detach(tensor)
    detached.__class__ = type(tensor)
    detached.__dict__.update(tensor.__dict__)
    torch.utils.swap_tensors(tensor, detached)


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
