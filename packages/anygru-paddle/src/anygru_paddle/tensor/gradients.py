"""`paddle.autograd.backward`, and the call of torch's engine behind it and `paddle.grad`."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from anygru import extend


def run_engine(run: Callable[[], Any]) -> Any:
    """Call torch's engine; Paddle's SystemError where the graph has been used and released."""
    try:
        return run()
    except RuntimeError as error:
        if not extend.is_release(error):
            raise
        raise SystemError(
            "(Fatal) Trying to backward through the same graph a second time: Please set retain_graph=True in the first "
            "backward/grad call."
        ) from error


def reached(roots: Iterable[torch.Tensor], blocked: Iterable[torch.Tensor] = ()) -> set[object]:
    """The steps of the graph behind `roots` that gradients get to without passing through a tensor of `blocked`."""
    walls = {(_step(each), each.output_nr) for each in blocked}
    waiting = [(_step(root), root.output_nr) for root in roots]
    found: set[object] = set()
    while waiting:
        step, place = waiting.pop()
        if step is None or (step, place) in walls or step in found:
            continue
        found.add(step)
        waiting += step.next_functions
    return found


def _step(tensor: torch.Tensor) -> Any:
    """The step that made a tensor; for a leaf, the step that accumulates its gradient."""
    if tensor.grad_fn is not None or not tensor.requires_grad:
        return tensor.grad_fn
    return torch.autograd.graph.get_gradient_edge(tensor).node


def is_reached(tensor: torch.Tensor, steps: set[object]) -> bool:
    """Whether a tensor is among the results (or the leaves) of steps."""
    return _step(tensor) in steps


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False) -> None:
    """Add the gradients of `tensors`, weighted by `grad_tensors`, to the gradients of their leaves.

    Args:
        tensors: a tensor or a list of different tensors; tensors with `stop_gradient` are skipped.
        grad_tensors: weights of the same shapes; None, or None in the list, means ones.
        retain_graph: keep the graph for another `backward`.

    Raises:
        AssertionError: for the same tensor twice, or weights that are not tensors or have another shape.
        SystemError: if the graph has been used without `retain_graph`.
    """
    roots = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if not all(isinstance(each, torch.Tensor) for each in roots):
        raise TypeError("paddle.autograd.backward: tensors must be a Tensor or a list of them")
    if len({id(each) for each in roots}) != len(roots):
        raise AssertionError(
            "The argument 'tensors' of paddle.autograd.backward contains duplicate paddle.Tensor object."
        )
    weights = grad_tensors if isinstance(grad_tensors, (list, tuple)) else [grad_tensors] * len(roots)
    if len(weights) != len(roots):
        raise AssertionError(f"paddle.autograd.backward: {len(roots)} tensors but {len(weights)} grad_tensors")
    used: list[torch.Tensor] = []
    seeds: list[torch.Tensor] = []
    for root, weight in zip(roots, weights, strict=True):
        if weight is None:
            weight = torch.ones_like(root)
        elif not isinstance(weight, torch.Tensor):
            raise AssertionError("The type of grad_tensor must be paddle.Tensor")
        if list(weight.shape) != list(root.shape):
            raise AssertionError(
                f"Tensor shape not match, Tensor of grad_tensor with shape {list(weight.shape)} mismatch Tensor with shape "
                f"{list(root.shape)}"
            )
        if root.requires_grad:
            used.append(root)
            seeds.append(weight)
    if not used:
        return
    run_engine(lambda: extend.backward(used, seeds, retain_graph))
