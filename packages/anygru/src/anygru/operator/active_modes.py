"""Whether gradients, transforms or recorders of torch are active around a call, and its name for the profiler."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..facts import torch_private

_transform, _recorder = torch_private.transform, torch_private.tracing_state  # read at every small call
_dispatch_modes = torch_private.dispatch_modes
_plain_types: dict[type, bool] = {}
_Result = TypeVar("_Result")


def named(compute: Callable[..., Any], *call: Any) -> Any:
    """The call under a name for torch.profiler, which does not see native calls."""
    with torch.profiler.record_function("anygru::gru"):
        return compute(*call)


def is_recorded() -> bool:
    """Whether torch.jit.trace or the legacy ONNX exporter records the present computation."""
    return _recorder() is not None


def unrecorded(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """The result of work that torch.jit.trace does not record, so that comparisons of sizes cause no warnings about constants."""
    recorder = _recorder()
    if recorder is None:
        return work(*arguments)
    torch_private.set_tracing_state(None)
    try:
        return work(*arguments)
    finally:
        torch_private.set_tracing_state(recorder)


def requires_gradient(input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor]) -> bool:
    """Whether the result of a call needs a gradient."""
    return torch.is_grad_enabled() and (
        input.requires_grad
        or (h_0 is not None and h_0.requires_grad)
        or any(weight.requires_grad for weight in weights)
    )


def has_tangent(tensor: Tensor) -> bool:
    """Whether forward-mode AD differentiates by the tensor."""
    return torch_private.forward_level() >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def is_transformed(tensors: Sequence[Tensor] = ()) -> bool:
    """Whether kernels cannot read tensors' memory.

    True if torch.func, forward-mode AD or a dispatch mode is active, or if one of these tensors intercepts torch's
    operators, or has no memory because it was made under a transform that has ended.
    """
    if _transform() is not None or torch_private.forward_level() >= 0 or _dispatch_modes() > 0:
        return True
    for tensor in tensors:
        kind = type(tensor)
        plain = _plain_types.get(kind)
        if plain is None:
            plain = kind.__torch_dispatch__ is Tensor.__torch_dispatch__
            _plain_types[kind] = plain
        if not plain or torch_private.is_wrapped(tensor):
            return True
    return False
