"""What layers, cells and their frozen forms share: checks of arguments, hooks of weights, torch.fx, words for `repr`."""

from typing import Any, NoReturn

from torch import nn
from torch.fx import Proxy

from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_groups
from ..facts.formula import Formula
from ..facts.weights import Layout, Weights

FORMULA = ("reset", "gate_activation", "activation", "backend")
"""Arguments of every layer that say how a step is computed."""


def check_size(argument: str, value: object, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{argument} must be an int, got {type(value).__name__}")
    if value < least:
        raise ArgumentError(f"{argument} must be at least {least}, got {value}")
    return value


def formula_repr(formula: Formula, backend: str | None) -> str:
    """How a layer's `repr` ends where these are not the default."""
    words = formula.describe()
    words = "" if words == "reset='after'" else f", {words}"
    return words if backend is None else f"{words}, backend={backend!r}"


def as_leaf(module: nn.Module, *call: Any) -> Any:
    """The call as one node of a graph if torch.fx traces it; None otherwise. The tracer does so by itself for torch.nn only."""
    proxy = next((one for one in call if isinstance(one, Proxy)), None)
    if proxy is None:
        return None
    name = proxy.tracer.path_of_module(module)  # type: ignore[attr-defined]
    if not name:
        raise ArgumentTypeError(
            f"torch.fx takes anygru.{type(module).__name__} as one node: trace a module that holds it"
        )
    while call[-1] is None or call[-1] is False:
        call = call[:-1]
    return proxy.tracer.create_proxy("call_module", name, call, {})


def is_reparametrization(hook: object) -> bool:
    """Whether a hook only computes a weight before a call, as torch.nn.utils.weight_norm's, spectral_norm's and prune's do."""
    return type(hook).__module__.startswith("torch.nn.utils.")


def settle_weights(module: nn.Module) -> None:
    """Computes the weights that such hooks compute; those of the last call stay otherwise until the next one."""
    for hook in module._forward_pre_hooks.values():
        if is_reparametrization(hook):
            hook(module, ())


def as_weights(weights: Weights) -> Weights:
    """The argument of `around`.

    Raises:
        ArgumentTypeError: something else, such as a layer or a list of tensors.
    """
    if not isinstance(weights, Weights):
        raise ArgumentTypeError(
            f"weights must be Weights.of(tensors, bidirectional, bias), got {type(weights).__name__}"
        )
    return weights


def of_formula(layer: Any) -> dict[str, Any]:
    """The arguments of a layer that computes as this one does, which may be frozen."""
    return {name: getattr(layer, name) for name in FORMULA}


def of_layout(layout: Layout) -> dict[str, Any]:
    """The arguments of a layer that shares weights of this layout."""
    input_groups = layout.groups if layout.splits_input else 1
    return {"norm": "layer" if layout.norm else None, "groups": layout.groups, "input_groups": input_groups}


def check_parts(groups: int, hidden_size: int, input_groups: int, input_size: int) -> None:
    """Raises ArgumentError if the sizes do not divide by the groups."""
    splits_input = check_groups(groups, input_groups)
    if groups == 1:
        return
    if check_size("hidden_size", hidden_size) % groups:
        raise ArgumentError(f"hidden_size must be a multiple of groups={groups}, got {hidden_size}")
    if splits_input and check_size("input_size", input_size, 0) % groups:
        raise ArgumentError(f"input_size must be a multiple of input_groups={groups}, got {input_size}")


def refuse_script(layer: nn.Module) -> NoReturn:
    """As `__prepare_scriptable__`, called by torch.jit.script, also for a module that holds the layer."""
    way = "torch.jit.trace or torch.export"
    if next(layer.parameters(), None) is not None:  # a frozen layer has none
        way += ", or for reset='after' script a torch.nn layer with this state_dict"
    name = f"anygru.{type(layer).__name__}"
    raise ArgumentTypeError(f"torch.jit.script cannot compile {name}, which chooses its kernel in Python; use {way}")


def sizes_repr(layer: Any) -> str:
    words = f"{layer.input_size or None}, {layer.hidden_size}"
    defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
    for name, default in defaults.items():
        if getattr(layer, name) != default:
            words += f", {name}={getattr(layer, name)}"
    return words
