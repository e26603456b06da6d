"""Recognize the error of a released autograd graph, and see gradients behind hooks."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import cache, partial

import torch


def is_release(error: Exception) -> bool:
    """Whether this error of torch means a second backward pass through a freed graph.

    torch has no class for it. Nor can the graph be inspected after a failed backward: the steps that ran before the
    failure are also released. So the error is compared with a provoked one.
    """
    return str(error) == _words()


@contextlib.contextmanager
def behind_hooks(tensors: Sequence[torch.Tensor]) -> Iterator[dict[int, torch.Tensor]]:
    """Collect the gradients that hooks leave of the `tensors` that are not leaves, by their positions.

    `torch.autograd.grad` calls the hooks of such a tensor, but gives the gradient before them if it goes on to a tensor
    behind it (torch 2.13).
    """
    found: dict[int, torch.Tensor] = {}
    handles = [
        torch.Tensor.register_hook(tensor, partial(found.__setitem__, place))
        for place, tensor in enumerate(tensors)
        if tensor._backward_hooks and not tensor.is_leaf
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


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
