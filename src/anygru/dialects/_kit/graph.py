"""The autograd graph, asked about its state."""

from collections.abc import Iterable

import torch


def is_released(roots: Iterable[torch.Tensor]) -> bool:
    """Whether a step of the graph behind these tensors has lost what it saved for backward, because backward ran through it.

    torch reports that as a RuntimeError like any other. Call this after such an error: it visits every step.
    """
    waiting = [root.grad_fn for root in roots]
    seen = set()
    while waiting:
        step = waiting.pop()
        if step is None or step in seen:
            continue
        seen.add(step)
        waiting += [before for before, _ in step.next_functions]
        for name in dir(step):
            if name.startswith("_saved_") or name == "saved_tensors":
                try:
                    getattr(step, name)
                except RuntimeError:
                    return True
    return False
