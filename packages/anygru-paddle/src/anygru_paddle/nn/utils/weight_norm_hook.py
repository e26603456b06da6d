"""`paddle.nn.utils.weight_norm`: a weight as a direction times lengths, two separate parameters."""

from typing import Any

import torch

from ...tensor.creation import assign
from ...tensor.operation import plain, wrap

__all__ = ["remove_weight_norm", "weight_norm"]


def _norm(weight: torch.Tensor, dim: int) -> torch.Tensor:
    """The length over all axes but `dim` (-1: over all), kept as axes of length 1."""
    axes = [axis for axis in range(weight.dim()) if axis != dim]
    return torch.linalg.vector_norm(weight, dim=axes, keepdim=True)


class WeightNorm:
    """The hook that computes a layer's weight again before each call."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, layer: Any) -> torch.Tensor:
        """The weight of the lengths `<name>_g` and the direction `<name>_v`; 1e-12 is Paddle 2.6.2's (recorded)."""
        lengths, direction = (plain(getattr(layer, self.name + end)) for end in ("_g", "_v"))
        norm = _norm(direction, self.dim)
        norm = norm + 1e-12 if self.dim == -1 else norm.clamp_min(1e-12)
        return wrap(direction / norm * lengths.reshape(norm.shape))

    def __call__(self, layer: Any, inputs: Any) -> None:
        setattr(layer, self.name, self.compute_weight(layer))


def weight_norm(layer: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train the lengths `<name>_g` of a layer's parameter along axis `dim` (one length for None) apart from `<name>_v`.

    Raises:
        RuntimeError: if the parameter is normalized already.
        AssertionError: for an axis that the parameter has not.
    """
    if any(isinstance(hook, WeightNorm) and hook.name == name for hook in layer._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight = getattr(layer, name)
    dim = -1 if dim is None else dim
    if not -weight.ndim <= dim < weight.ndim:
        raise AssertionError("dim must set between [-R, R), R means the dimension of weight.")
    hook = WeightNorm(name, dim if dim == -1 else dim % weight.ndim)
    squares = _norm(plain(weight).detach(), hook.dim).square()
    lengths = torch.sqrt(squares + 1e-12).reshape([-1] if hook.dim != -1 else [])
    del layer._parameters[name]
    for end, value in (("_v", weight), ("_g", wrap(lengths))):
        parameter = layer.create_parameter(list(value.shape), dtype=weight.dtype)
        layer.add_parameter(name + end, parameter)
        with torch.no_grad():
            assign(value, parameter)
    setattr(layer, name, hook.compute_weight(layer))
    layer.register_forward_pre_hook(hook)
    return layer


def remove_weight_norm(layer: Any, name: str = "weight") -> Any:
    """Make the weight one parameter again.

    Raises:
        ValueError: if it is not normalized.
    """
    for key, hook in layer._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(layer)
            delattr(layer, name)
            for end in ("_g", "_v"):
                del layer._parameters[name + end]
            parameter = layer.create_parameter(list(weight.shape), dtype=weight.dtype)
            layer.add_parameter(name, parameter)
            with torch.no_grad():
                assign(weight, parameter)
            del layer._forward_pre_hooks[key]
            return layer
    raise ValueError(f"weight_norm of '{name}' not found in {layer}")
