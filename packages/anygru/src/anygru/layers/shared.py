"""Helpers of layers, cells and their frozen forms: checks of arguments, modes, hooks of weights, torch.fx, `repr`."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any, NoReturn

from torch import Tensor, nn
from torch.fx import Proxy

from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_groups
from ..facts.formula import activation_name
from ..facts.weights import Layout, Weights

_FORMULA = ("reset", "gate_activation", "activation", "backend")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Within it the model is in evaluation mode; afterwards each module has the mode that it had, also after errors."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def shallow_copy(module: nn.Module) -> Any:
    """A module with the attributes of another; `copy.copy` takes no module with parametrized weights, and moves a GRU's."""
    made = nn.Module.__new__(type(module))
    made.__dict__ = {**module.__dict__, "_compiled_call_impl": None}  # of Module.compile, bound to the other module
    return made


def deep_copy(model: nn.Module) -> Any:
    """`copy.deepcopy` of a module, also with weights that were computed from parameters, as torch.nn.utils.weight_norm's are."""
    values = (value for module in model.modules() for value in vars(module).values())
    computed = (value for value in values if isinstance(value, Tensor) and not value.is_leaf)
    return copy.deepcopy(model, {id(value): value.detach().clone() for value in computed})


def defaults_of(init: Callable[..., None]) -> dict[str, Any]:
    """The optional arguments of a layer's `__init__` with their defaults, without device and dtype."""
    optional = [one for one in signature(init).parameters.values() if one.default is not Parameter.empty]
    return {one.name: one.default for one in optional if one.name not in ("device", "dtype")}


def layer_repr(layer: Any) -> str:
    """The sizes of a layer, and its options that do not have their default."""
    words = f"{layer.input_size or None}, {layer.hidden_size}"
    for name, default in layer._defaults.items():
        value = getattr(layer, name)
        if value != default:
            words += f", {name}={activation_name(value) if callable(value) else repr(value)}"
    return words


def check_size(argument: str, value: object, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{argument} must be an int, got {type(value).__name__}")
    if value < least:
        raise ArgumentError(f"{argument} must be at least {least}, got {value}")
    return value


def check_flag(argument: str, value: object) -> bool:
    """The flag as a bool; 0 and 1 are also flags, other numbers and texts are errors.

    Raises:
        ArgumentTypeError: naming the argument.
    """
    if isinstance(value, str) or value not in (False, True):
        raise ArgumentTypeError(f"{argument} must be True or False, got {value!r:.60}")
    return bool(value)


def choose_state(state: Any, hx: Any, name: str) -> Any:
    """The state that a call gives by torch's name.

    Raises:
        ArgumentError: the call also gives the argument by its other name.
    """
    if state is not None:
        raise ArgumentError(f"hx is torch's name of {name}: give one of them, got both")
    return hx


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


def run_weight_hooks(module: nn.Module) -> None:
    """Compute the weights of a module with such hooks, which otherwise stay outdated until the next call."""
    for hook in module._forward_pre_hooks.values():
        if is_reparametrization(hook):
            hook(module, ())


def as_weights(weights: Weights) -> Weights:
    """The argument of `around`.

    Raises:
        ArgumentTypeError: another type, such as a layer or a list of tensors.
    """
    if not isinstance(weights, Weights):
        raise ArgumentTypeError(
            f"weights must be Weights.of(tensors, bidirectional, bias), got {type(weights).__name__}"
        )
    return weights


def formula_arguments(layer: Any) -> dict[str, Any]:
    """The arguments of `around` for a layer with the same formula and backend."""
    return {name: getattr(layer, name) for name in _FORMULA}


def layout_arguments(layout: Layout) -> dict[str, Any]:
    """The keyword-only arguments of a layer that follow from the layout of its weights."""
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
    if next(layer.parameters(), None) is not None:  # not for a frozen layer
        way += ", or for reset='after' script a torch.nn layer with this state_dict"
    name = f"anygru.{type(layer).__name__}"
    raise ArgumentTypeError(f"torch.jit.script cannot compile {name}, which chooses its kernel in Python; use {way}")
