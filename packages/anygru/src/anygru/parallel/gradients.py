"""Gradients of global parameters: brought to the parameters' layouts once, at the end of a backward pass, in few messages."""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from ..facts import torch_private
from .pieces import laid

_engine = torch.autograd.Variable._execution_engine


class _Waiting:
    """The parameters whose gradients of this backward pass are still open, and the gradients that they had before."""

    def __init__(self) -> None:
        self.earlier: dict[int, tuple[Tensor, Tensor | None]] = {}
        self.passing = -1  # the backward pass

    def set_aside(self, parameter: Tensor) -> None:
        """Put an earlier gradient aside, so that what this pass adds can be summed over the processes by itself."""
        task = torch_private.graph_task
        passing = 0 if task is None else task()
        if passing != self.passing:
            self.restore()
            self.passing = passing
            _engine.queue_callback(self.close)
        if id(parameter) not in self.earlier:
            self.earlier[id(parameter)] = (parameter, parameter.grad)
            parameter.grad = None

    def restore(self) -> None:
        """Give back the earlier gradients of a pass that ended by an error."""
        for parameter, earlier in self.earlier.values():
            if parameter.grad is None:
                parameter.grad = earlier
        self.earlier = {}

    def close(self) -> None:
        """Bring the gradients to their parameters' layouts."""
        pairs, self.earlier, self.passing = list(self.earlier.values()), {}, -1
        with torch.no_grad(), torch_private.disable_torch_function():
            open_sums = [parameter for parameter, _ in pairs if _is_open(parameter)]
            for group in _alike(open_sums):
                _close(group)
            for parameter, earlier in pairs:
                gradient = parameter.grad
                assert isinstance(parameter, DTensor)
                if isinstance(gradient, DTensor):
                    parameter.grad = gradient = laid(gradient, parameter.placements)
                if isinstance(earlier, DTensor) and isinstance(gradient, DTensor):
                    earlier._local_tensor.add_(gradient._local_tensor)
                    parameter.grad = earlier
                elif gradient is None:
                    parameter.grad = earlier


_waiting = _Waiting()


def keep_gradient_layout(parameter: Tensor) -> None:
    """Bring a parameter's gradient to the parameter's own layout in each backward pass."""
    if not parameter.requires_grad or not isinstance(parameter, DTensor):
        return

    def begin(gradient: Tensor) -> None:
        # A gradient that will be differentiated itself is left as it comes.
        earlier = parameter.grad
        fits = earlier is None or (
            isinstance(earlier, DTensor) and tuple(earlier.placements) == tuple(parameter.placements)
        )
        if isinstance(gradient, DTensor) and not torch.is_grad_enabled() and fits:
            _waiting.set_aside(parameter)

    def relay(leaf: Tensor) -> None:
        gradient = leaf.grad
        if id(leaf) not in _waiting.earlier and isinstance(gradient, DTensor):
            leaf.grad = laid(gradient, parameter.placements)

    # By torch's own method: a dialect's may call the hook otherwise.
    torch.Tensor.register_hook(parameter, begin)  # type: ignore[no-untyped-call]
    parameter.register_post_accumulate_grad_hook(relay)


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


def _alike(parameters: Sequence[Tensor]) -> list[list[Tensor]]:
    """The parameters in groups of one mesh, type and device, of at most 128 MB."""
    groups: dict[object, list[Tensor]] = {}
    taken: dict[object, int] = {}
    for parameter in parameters:
        gradient = parameter.grad
        assert isinstance(gradient, DTensor)
        kind = (id(gradient.device_mesh), gradient.dtype, gradient.device)
        taken[kind] = taken.get(kind, 0) + gradient.numel() * gradient.element_size()
        groups.setdefault((kind, taken[kind] >> 27), []).append(parameter)
    return list(groups.values())


def _close(parameters: Sequence[Tensor]) -> None:
    """Sum the gradients over the processes in one message."""
    gradients = [parameter.grad for parameter in parameters]
    locals_ = [gradient._local_tensor for gradient in gradients if isinstance(gradient, DTensor)]
    first = gradients[0]
    assert isinstance(first, DTensor)
    flat = torch.cat([local.reshape(-1) for local in locals_])
    if first.device_mesh.size() > 1:
        dist.all_reduce(flat, group=first.device_mesh.get_group(0))
    parts = torch.split(flat, [local.numel() for local in locals_])
    for parameter, local, part in zip(parameters, locals_, parts, strict=True):
        assert isinstance(parameter, DTensor)
        parameter.grad = DTensor(part.view(local.shape), parameter._spec, requires_grad=False)
