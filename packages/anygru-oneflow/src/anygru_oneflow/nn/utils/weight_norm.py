"""Weights as lengths and directions (Salimans and Kingma, 2016)."""

from typing import Any

import torch

from ...framework.dressing import dress
from ...framework.tensor import Parameter, Tensor
from ..modules.module import Module


class _WeightNorm:
    """Computes the weight before each forward."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def weight(self, module: Module) -> Tensor:
        direction, length = (getattr(module, self.name + end) for end in ("_v", "_g"))
        return direction * (length / self.norm(direction))

    def norm(self, direction: Tensor) -> Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            return dress(torch.norm_except_dim(direction, 2, self.dim))

    def __call__(self, module: Module, arguments: Any) -> None:
        setattr(module, self.name, self.weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a parameter by its norm `name_g` over all dimensions but `dim` and its direction `name_v`."""
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, _WeightNorm) and hook.name == name:
            raise RuntimeError(f"cannot register two weight_norm hooks on the same parameter {name}")
    hook = _WeightNorm(name, -1 if dim is None else dim)
    weight = module._parameters.pop(name).detach()
    module.register_parameter(name + "_g", Parameter(hook.norm(weight)))
    module.register_parameter(name + "_v", Parameter(weight))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`. Raises ValueError if the parameter was not replaced."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, _WeightNorm) and hook.name == name:
            weight = hook.weight(module).detach()
            del module._forward_pre_hooks[key], module._parameters[name + "_g"], module._parameters[name + "_v"]
            delattr(module, name)
            module.register_parameter(name, Parameter(weight))
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
