"""`freeze`: exchanges every GRU inside a model for a frozen one."""

from typing import Any

from torch import nn

from ..errors import AnygruError
from ..facts.quantization import check_format
from ..facts.weights import KINDS, Weights
from ..layers.frozen import Frozen
from ..layers.gru import GRU, GRUCell
from ..layers.recurrent import is_reparametrization, settle_weights
from .accelerate import Report, describe, recurrent_modules

_KNOWN: tuple[type[nn.Module], ...] = (nn.GRU, nn.GRUCell, GRU, GRUCell)
"""What can be frozen, and subclasses that compute no other way."""


def freeze(model: nn.Module, weights: str = "float32") -> Report:
    """Exchange every torch.nn.GRU and GRUCell and every anygru GRU and GRUCell inside a model for a frozen layer.

    The model is changed in place, its other modules stay. A module that is used in several places is exchanged in all.

    Args:
        model: the module to walk. If it is itself a GRU there is no place to exchange it in; use `layer.freeze()`.
        weights: how weight matrices are stored: "float32", "bfloat16" or "int8".

    Returns:
        Report: the frozen modules, and why others were left.

    Raises:
        TypeError: `model` is not a torch.nn.Module.
        ArgumentError: no such format.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.GRU(3, 5, batch_first=True))
        >>> print(anygru.freeze(model, weights="int8"))
        frozen 1 module
          0: FrozenGRU(3, 5, batch_first=True, weights='int8')
    """
    check_format(weights)
    report = Report("frozen")
    for name, module in recurrent_modules(model):
        reason = _reason_to_leave(module, module is model)
        if reason is None:
            try:
                frozen = _freeze(module, weights)
            except AnygruError as error:
                reason = str(error)
        if reason is not None:
            report.unchanged[name] = reason
            continue
        for parent in model.modules():
            for place, child in parent._modules.items():
                if child is module:
                    parent._modules[place] = frozen
        report.changed[name] = describe(frozen)
    return report


def _reason_to_leave(module: nn.Module, is_model: bool) -> str | None:
    """Why this module cannot be frozen, or None if it can."""
    kind = type(module).__name__
    if isinstance(module, Frozen):
        return "already frozen"
    if not isinstance(module, _KNOWN):
        return f"{type(module).__module__}.{kind} is no GRU or GRUCell of torch or anygru"
    if is_model:
        return "it is the model itself, and cannot be exchanged in place: use the result of anygru.GRU's freeze()"
    if "forward" in module.__dict__:
        return f"its own `forward` hides {kind}.forward"
    if not any(type(module).forward is known.forward for known in _KNOWN):
        return f"{kind} has a `forward` of its own, which would be lost"
    if any(not is_reparametrization(hook) for hook in module._forward_pre_hooks.values()) or module._forward_hooks:
        return "it has hooks, which expect the layer itself"
    return None


def _freeze(module: nn.Module, weights: str) -> nn.Module:
    if isinstance(module, (GRU, GRUCell)):
        return module.freeze(weights)
    settle_weights(module)
    layer: Any = module
    cell = isinstance(module, nn.GRUCell)
    names = KINDS if cell else layer._flat_weights_names
    tensors = [tensor for tensor in (getattr(layer, name, None) for name in names) if tensor is not None]
    if cell:
        ours: GRU | GRUCell = GRUCell.around(Weights.of(tensors, False, layer.bias))
    else:
        settled = Weights.of(tensors, layer.bidirectional, layer.bias)
        ours = GRU.around(settled, batch_first=layer.batch_first, dropout=layer.dropout)
    return ours.freeze(weights)
