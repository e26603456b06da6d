"""`freeze` exchanges every GRU inside a model for a frozen one; `freeze_aware` prepares the training for it."""

from collections.abc import Callable

from torch import nn

from ..errors import AnygruError, ArgumentError
from ..facts.quantization import WeightFormat, check_format
from ..layers.from_torch import from_torch
from ..layers.frozen import Frozen
from ..layers.frozen_calls import check_plain
from ..layers.gru import GRU, GRUCell
from ..layers.shared import is_reparametrization
from .accelerate import Report, describe, recurrent_modules

_KNOWN: tuple[type[nn.Module], ...] = (nn.GRU, nn.GRUCell, GRU, GRUCell)
"""The classes that can be frozen, and subclasses that keep their arithmetic."""


def freeze(model: nn.Module, weights: WeightFormat = "float32") -> Report:
    """Exchange every torch.nn.GRU and GRUCell and every anygru GRU and GRUCell inside a model for a frozen layer.

    The model is changed in place, its other modules stay. A module that is used in several places is exchanged in all.

    Args:
        model: the module to walk, which holds the layers.
        weights: how weight matrices are stored: "float32", "bfloat16", "bfloat16_rows" or "int8"; see `quantization`.

    Returns:
        Report: the frozen modules, and why others were left.

    Raises:
        ArgumentTypeError: `model` is not a torch.nn.Module.
        ArgumentError: no such format, or `model` is itself a GRU or GRUCell, which cannot be exchanged.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.GRU(3, 5, batch_first=True))
        >>> print(anygru.freeze(model, weights="int8"))
        frozen 1 module
          0: FrozenGRU(3, 5, batch_first=True, weights='int8')
    """
    check_format(weights)
    return _exchange(model, "frozen", lambda module: from_torch(module).freeze(weights))


def freeze_aware(model: nn.Module, weights: WeightFormat = "int8") -> Report:
    """Train every GRU inside a model with its weights as a frozen layer will hold them, so that `freeze` changes nothing.

    From now on each call reads the weight matrices rounded to the format, in training and in inference, and gradients go to the
    exact ones as if nothing had been rounded (straight-through, Bengio et al. 2013, arXiv:1308.3432). The parameters,
    their names and their state in optimizers stay. `freeze(model, weights)` then stores the rounded weights, bit for
    bit. Train a model as usual first, and the last epochs with this.

    Args:
        model: the module to walk, in place. torch.nn.GRU and GRUCell become layers of anygru around the same parameters.
        weights: "int8" or "bfloat16"; "float32" ends it.

    Returns:
        Report: the prepared modules, and why others were left.

    Raises:
        ArgumentTypeError: `model` is not a torch.nn.Module.
        ArgumentError: no such format.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.GRU(3, 5, batch_first=True))
        >>> print(anygru.freeze_aware(model, weights="int8"))
        prepared 1 module
          0: GRU(3, 5, batch_first=True, freezes_to='int8')
    """
    check_format(weights)

    def prepared(module: nn.Module) -> nn.Module:
        layer = from_torch(module)
        if layer is module:
            check_plain(layer)
        else:
            layer.train(module.training)
        layer.freezes_to = None if weights == "float32" else weights
        return layer

    return _exchange(model, "prepared", prepared, (GRU, GRUCell))


def _exchange(
    model: nn.Module, done: str, make: Callable[[nn.Module], nn.Module], own: tuple[type[nn.Module], ...] = ()
) -> Report:
    """Puts the result of `make` in every place of each layer. Layers of the types `own` stay of these types."""
    report = Report(done)
    for name, module in recurrent_modules(model):
        reason = None if isinstance(module, own) else _reason_to_leave(module, module is model)
        if reason is None:
            try:
                other = make(module)
            except AnygruError as error:
                reason = str(error)
        if reason is not None:
            report.unchanged[name] = reason
            continue
        for parent in model.modules():
            for place, child in parent._modules.items():
                if child is module:
                    parent._modules[place] = other
        report.changed[name] = describe(other)
    return report


def _reason_to_leave(module: nn.Module, is_model: bool) -> str | None:
    """Why this module cannot be frozen, or None if it can."""
    kind = type(module).__name__
    if isinstance(module, Frozen):
        return "already frozen"
    if not isinstance(module, _KNOWN):
        return f"{type(module).__module__}.{kind} is no GRU or GRUCell of torch or anygru"
    if is_model:
        raise ArgumentError(
            f"model is itself a {kind}, which cannot be exchanged in place: pass a module that holds it, such as "
            "torch.nn.Sequential(model), or call freeze() of a layer of anygru"
        )
    if "forward" in module.__dict__:
        return f"its own `forward` hides {kind}.forward"
    if not any(type(module).forward is known.forward for known in _KNOWN):
        return f"{kind} has a `forward` of its own, which would be lost"
    if any(not is_reparametrization(hook) for hook in module._forward_pre_hooks.values()) or module._forward_hooks:
        return "it has hooks, which expect the layer itself"
    return None
