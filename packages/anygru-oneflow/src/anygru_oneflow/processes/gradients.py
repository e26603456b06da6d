"""Gradients of global parameters: brought to the parameters' layouts once, at the end of a backward pass, in few messages."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, Placement

from anygru.extend import torch_private

from .pieces import TAKES, described, redistribute

_engine = torch.autograd.Variable._execution_engine


class _Waiting:
    """The parameters with open gradients of this backward pass, and their gradients from before it.

    Attributes:
        taken: the sum of the pieces' gradients that came without a global tensor around them, by the parameter's id.
    """

    def __init__(self) -> None:
        self.earlier: dict[int, tuple[Tensor, Tensor | None]] = {}
        self.taken: dict[int, Tensor] = {}
        self.passing = -1  # the backward pass

    def set_aside(self, parameter: Tensor) -> None:
        """Set an earlier gradient aside, so that only the gradient of this pass is summed over the processes."""
        task = torch_private.graph_task
        passing = 0 if task is None else task()
        if passing != self.passing:
            self.restore()
            self.passing = passing
            _engine.queue_callback(self.close)
        if id(parameter) not in self.earlier:
            self.earlier[id(parameter)] = (parameter, parameter.grad)
            parameter.grad = None

    def take(self, parameter: Tensor, gradient: Tensor) -> None:
        """Add to the gradient of the parameter's pieces."""
        self.set_aside(parameter)
        known = self.taken.get(id(parameter))
        self.taken[id(parameter)] = gradient if known is None else known + gradient

    def restore(self) -> None:
        """Restore the earlier gradients after a pass that ended with an error."""
        for parameter, earlier in self.earlier.values():
            if parameter.grad is None:
                parameter.grad = earlier
        self.earlier, self.taken = {}, {}

    def close(self) -> None:
        """Bring the gradients to their parameters' layouts."""
        pairs, taken = list(self.earlier.values()), self.taken
        self.earlier, self.taken, self.passing = {}, {}, -1
        with torch.no_grad(), torch_private.disable_torch_function():
            shares = [(parameter, _share(parameter, taken.get(id(parameter)))) for parameter, _ in pairs]
            whole: dict[int, Tensor] = {}
            for group in _alike([(parameter, share) for parameter, share in shares if share is not None]):
                whole.update(_closed(group))
            for parameter, earlier in pairs:
                _finish_gradient(parameter, earlier, whole.get(id(parameter)))


_waiting = _Waiting()


def keep_gradient_layout(parameter: Tensor) -> None:
    """Bring a parameter's gradient to the parameter's own layout in each backward pass."""
    if not parameter.requires_grad or not isinstance(parameter, DTensor) or TAKES in vars(parameter):
        return

    def begin(gradient: Tensor | None) -> None:
        # A gradient that will be differentiated again is not changed.
        if isinstance(gradient, DTensor) and not torch.is_grad_enabled() and _fits(parameter):
            _waiting.set_aside(parameter)

    def relay(leaf: Tensor) -> None:
        gradient = leaf.grad
        if id(leaf) not in _waiting.earlier and isinstance(gradient, DTensor):
            leaf.grad = redistribute(gradient, parameter.placements)

    # By torch's own method: a dialect's may call the hook otherwise.
    torch.Tensor.register_hook(parameter, begin)
    parameter.register_post_accumulate_grad_hook(relay)
    vars(parameter)[TAKES] = _take


def _take(node: Any, gradient: Tensor, layout: Sequence[Placement]) -> bool:
    """Take a share of the gradient of a parameter's piece, if only the sum of all shares will be read.

    Args:
        node: the end of the graph that adds to the parameter's gradient.
    """
    parameter = node.variable
    hooks = len(parameter._backward_hooks or ()), len(parameter._post_accumulate_grad_hooks or ())
    if (
        hooks != (1, 1)
        or len(layout) != 1
        or not (layout[0].is_partial("sum") and parameter.placements[0].is_replicate())
    ):
        return False
    if not _fits(parameter) or not _adds(node):
        return False
    _waiting.take(parameter, gradient)
    return True


def _adds(node: Any) -> bool:
    """Whether the running backward pass adds to the gradient of the parameter at this end of the graph."""
    if torch_private.will_execute is None:
        return False
    try:
        return torch_private.will_execute(node)
    except RuntimeError:  # in `torch.autograd.grad`, which gives the gradient away
        return False


def _fits(parameter: Tensor) -> bool:
    """Whether a new gradient in the parameter's layout can be added to its present gradient."""
    earlier = parameter.grad
    return earlier is None or (isinstance(earlier, DTensor) and earlier.placements == parameter.placements)  # type: ignore[attr-defined]


def _share(parameter: Tensor, taken: Tensor | None) -> Tensor | None:
    """This process's share of a gradient that every process of one mesh is to have whole."""
    gradient = parameter.grad
    if not _is_open(parameter):
        return taken
    assert isinstance(gradient, DTensor)
    return gradient._local_tensor if taken is None else gradient._local_tensor + taken


def _finish_gradient(parameter: Tensor, earlier: Tensor | None, whole: Tensor | None) -> None:
    """Give the parameter its gradient of this pass and the earlier ones, in its own layout.

    Args:
        whole: the sum of all shares.
    """
    gradient = parameter.grad
    assert isinstance(parameter, DTensor)
    if isinstance(gradient, DTensor) and (whole is None or not _is_open(parameter)):
        gradient = redistribute(gradient, parameter.placements)
        if whole is not None:
            gradient._local_tensor.add_(whole)
        whole = gradient._local_tensor
    else:
        gradient = None
    if whole is None or isinstance(earlier, DTensor):
        parameter.grad = earlier  # most often: a training step keeps it, and fills it with zeros
        if whole is not None:
            earlier._local_tensor.add_(whole)  # type: ignore[union-attr]
    else:
        parameter.grad = described(whole, parameter._spec) if gradient is None else gradient


def _is_open(parameter: Tensor) -> bool:
    """Whether a parameter that every process of one mesh has whole has an open sum as its gradient."""
    gradient = parameter.grad
    return (
        isinstance(gradient, DTensor)
        and isinstance(parameter, DTensor)
        and gradient.device_mesh.ndim == 1
        and parameter.placements[0].is_replicate()
        and gradient.placements[0].is_partial("sum")
    )


_Shares = Sequence[tuple[Tensor, Tensor]]
"""Parameters, and this process's share of the gradient of each."""


def _alike(shares: _Shares) -> list[_Shares]:
    """The shares in groups of one mesh, type and device, of at most 128 MB."""
    groups: dict[object, list[tuple[Tensor, Tensor]]] = {}
    taken: dict[object, int] = {}
    for parameter, share in shares:
        kind = (id(parameter.device_mesh), share.dtype, share.device)  # type: ignore[attr-defined]
        taken[kind] = taken.get(kind, 0) + share.nbytes
        groups.setdefault((kind, taken[kind] >> 27), []).append((parameter, share))
    return list(groups.values())


def _closed(shares: _Shares) -> dict[int, Tensor]:
    """The sums of the shares over the processes, in one message, by the parameter's id."""
    flat = torch.cat([share.reshape(-1) for _, share in shares])
    first = shares[0][0]
    assert isinstance(first, DTensor)
    if first.device_mesh.size() > 1:
        dist.all_reduce(flat, group=first.device_mesh.get_group(0))
    parts = torch.split(flat, [share.numel() for _, share in shares])
    return {id(parameter): part.view(share.shape) for (parameter, share), part in zip(shares, parts, strict=True)}
