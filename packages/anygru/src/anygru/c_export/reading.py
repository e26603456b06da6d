"""Convert a model to the operations of the file in C; errors for modules that C cannot represent."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ..errors import AnygruError, ArgumentError, ArgumentTypeError
from ..facts.formula import activation_name
from ..facts.quantization import Stored, WeightFormat, check_format
from ..facts.weights import KINDS
from ..layers.from_torch import from_torch
from ..layers.frozen import Frozen
from ..layers.gru import GRU, FrozenGRU, FrozenGRUCell, GRUCell
from ..layers.shared import is_reparametrization, run_weight_hooks
from .operations import Activation, Direction, Linear, Norm, Operation, Recurrence, Sum, check_numbers, recurrences
from .residual import Residual


def operations(model: nn.Module, weights: WeightFormat | None = None) -> list[Operation]:
    """The operations of a model, in the order in which they act.

    Args:
        model: see `export_c`.
        weights: the format of the GRUs' matrices; None: float32, and of a frozen layer its own.

    Raises:
        ArgumentError, ArgumentTypeError: a module or an option that the file cannot have; the message names the module.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if weights is not None:
        check_format(weights)
    found = _read(model, "", weights)
    if not recurrences(found):
        raise ArgumentError("model must hold a GRU, and none is in it")
    check_numbers(found)
    return found


def _read(
    module: nn.Module, path: str, weights: WeightFormat | None, own: tuple[nn.Module, ...] = ()
) -> list[Operation]:
    """The operations of one module; `path` is its name in the model, `own` the modules with the `c_parts` that contain it."""
    if hasattr(module, "c_parts"):
        return _read(_parts(module, path, own), path, weights, (*own, module))
    if any(map(is_lazy, module.parameters(recurse=False))):
        raise ArgumentError(f"{path or 'model'} has seen no input yet, so its sizes are not known: call the model once")
    _check_hooks(module, path)
    if is_row(module):
        found: list[Operation] = []
        for name, child in module._modules.items():  # named_children leaves out a module's second place
            place = f"{path}.{name}" if path else name
            if child is None:
                raise ArgumentTypeError(f"{place} must be a torch.nn.Module, got None")
            found += _read(child, place, weights, own)
        if not isinstance(module, Residual):
            return found
        if not found:
            raise ArgumentError(f"{path or 'model'}: a Residual needs modules")
        return [Sum(path, tuple(found))]
    kind = next((kind for kind in _READERS if isinstance(module, kind)), None)
    if kind is None:
        came = f"{type(module).__module__}.{type(module).__name__}"
        raise ArgumentTypeError(
            f"{path or 'model'}: a file in C has no {came}; it takes GRUs, nn.Sequential, Residual, Linear, LayerNorm and "
            f"activations; {_REMEDY}"
        )
    if type(module).forward is not kind.forward:
        raise ArgumentTypeError(f"{path or 'model'}: {type(module).__name__} has a `forward` of its own; {_REMEDY}")
    return _READERS[kind](module, path, weights)


def is_row(module: nn.Module) -> bool:
    """Whether it is an `nn.Sequential` or a `Residual`, or of a class that only builds one."""
    return isinstance(module, nn.Sequential) and type(module).forward in (nn.Sequential.forward, Residual.forward)


def is_chain(model: object) -> bool:
    """Whether the modules of a model act one after another, and a file in C knows them all, or `c_parts` says so.

    Also a row in which a GRU is followed by others, which torch cannot call, so that no graph of it can be made.
    """
    if not isinstance(model, nn.Module) or hasattr(model, "c_parts"):
        return True
    if is_row(model):
        children = list(model._modules.values())
        return any(isinstance(each, PAIRS) for each in children[:-1]) or all(map(is_chain, children))
    return isinstance(model, tuple(_READERS))


PAIRS = (GRU, FrozenGRU, nn.GRU)
"""Modules that return a pair, of which a row passes on the outputs."""


def _parts(module: Any, path: str, own: tuple[nn.Module, ...]) -> nn.Module:
    """The result of `c_parts`."""
    name = path or "model"
    if any(module is one for one in own):
        raise ArgumentError(f"{name}: c_parts() must return other modules, got one that holds the module itself")
    if not callable(module.c_parts):
        raise ArgumentTypeError(f"{name}: c_parts must be a method, got {type(module.c_parts).__name__}")
    found = module.c_parts()
    if not isinstance(found, nn.Module):
        raise ArgumentTypeError(f"{name}: c_parts() must return a torch.nn.Module, got {type(found).__name__}")
    return found


_REMEDY = "for a module of your own, define a method c_parts() that returns an equal nn.Sequential"


def _check_hooks(module: nn.Module, path: str) -> None:
    others = [hook for hook in module._forward_pre_hooks.values() if not is_reparametrization(hook)]
    if others or module._forward_hooks or "forward" in module.__dict__:
        raise ArgumentError(f"{path or 'model'}: it has hooks or a `forward` of its own, which C cannot run")
    run_weight_hooks(module)


def _vector(tensor: Tensor | None, name: str) -> Tensor | None:
    """A copy in memory of a vector or a matrix that must be float32."""
    if tensor is None:
        return None
    if tensor.is_meta:
        raise ArgumentError(f"{name} must have values, got a tensor on meta")
    if tensor.dtype is not torch.float32:
        raise ArgumentTypeError(f"{name} must be float32, got {tensor.dtype}: call the model's float() first")
    return tensor.detach().cpu().clone()


def _number(value: float, name: str) -> float:
    """The float32 next to a number, since C has no literal for one beyond them."""
    found = torch.tensor(float(value), dtype=torch.float32).item()
    if not math.isfinite(found):
        raise ArgumentError(f"{name} must be finite in float32, got {value!r}")
    return found


def _gru(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    return [recurrence(module, path, weights)]


def recurrence(module: nn.Module, path: str, weights: WeightFormat | None) -> Recurrence:
    """A GRU or a cell with its numbers in the chosen format.

    Raises:
        ArgumentError: it has an option that C has not.
    """
    name = path or "model"
    layer: Any = module if isinstance(module, Frozen) else from_torch(module)
    if layer.options.layer.reverse:
        raise ArgumentError(f"{name}: a file in C has no layer that reads backwards only")
    for argument in ("gate_activation", "activation"):
        if not isinstance(getattr(layer, argument), str):
            chosen = activation_name(getattr(layer, argument))
            raise ArgumentError(f"{name}: {argument} is the function {chosen}, which C cannot call; use a name")
    if layer.groups > 1:
        raise ArgumentError(
            f"{name}: groups={layer.groups}, which a file in C has not; export the layer that ungrouped() gives"
        )
    zoneout = 0.0 if isinstance(layer, Frozen) else _number(layer.zoneout, f"{name}: zoneout")
    stored, used = _stored(layer, name, weights)
    layout = layer.layout if isinstance(layer, Frozen) else layer._layout
    layers = []
    for number in range(layout.num_layers):
        own = []
        for direction in range(layout.directions()):
            tensors = dict(zip(layout.kinds(), stored[layout.of_direction(number, direction)], strict=True))
            vectors = {kind: _vector(tensors[kind].values, f"{name}.{kind}") for kind in layout.kinds()[2:]}
            matrices = {kind: _on_cpu(tensors[kind]) for kind in KINDS[:2]}
            own.append(Direction(**matrices, **vectors, reverse=direction == 1))  # type: ignore[arg-type]
        layers.append(tuple(own))
    formula = (layer.reset, layer.gate_activation, layer.activation)
    return Recurrence(path, layer.input_size, layer.hidden_size, tuple(layers), *formula, zoneout, used)


def _on_cpu(stored: Stored) -> Stored:
    scale = None if stored.scale is None else stored.scale.detach().cpu()
    return Stored(stored.values.detach().cpu(), scale)


def _stored(layer: Any, name: str, weights: WeightFormat | None) -> tuple[list[Stored], WeightFormat]:
    """The flat weights of a layer in the chosen format, and its name."""
    if "bfloat16_rows" in (weights, getattr(layer, "weights", None)):
        raise ArgumentError(f"{name}: C multiplies rows of float32 only: freeze it with weights='bfloat16'")
    if isinstance(layer, Frozen):
        if weights is not None and weights != layer.weights:
            raise ArgumentError(
                f"{name}: weights={weights!r}, and the layer is frozen with {layer.weights!r}, which it keeps: leave "
                "`weights` out, or export the layer that was frozen"
            )
        return layer.stored(), layer.weights
    if weights in (None, "float32"):
        return [Stored(_vector(tensor, name)) for tensor in layer.flat_weights], "float32"  # type: ignore[arg-type]
    try:
        frozen = layer.freeze(weights)
    except AnygruError as error:
        raise type(error)(f"{name}: {error}") from error
    return frozen.stored(), weights


def _linear(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    weight, bias = (_vector(getattr(module, kind), f"{path or 'model'}.{kind}") for kind in ("weight", "bias"))
    assert weight is not None
    if 0 in weight.shape:
        raise ArgumentError(
            f"{path or 'model'}: a Linear must have features, got {weight.shape[1]} to {weight.shape[0]}"
        )
    return [Linear(path, weight, bias)]


def _norm(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    assert isinstance(module, nn.LayerNorm)
    if len(module.normalized_shape) != 1:
        raise ArgumentError(f"{path or 'model'}: LayerNorm must be over the features, got {module.normalized_shape}")
    weight, bias = (_vector(getattr(module, kind), f"{path or 'model'}.{kind}") for kind in ("weight", "bias"))
    return [Norm(path, module.normalized_shape[0], weight, bias, _number(module.eps, f"{path or 'model'}: eps"))]


def _nothing(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    """A module that does nothing in inference."""
    return []


def _activation(name: str, **usual: object) -> Callable[[nn.Module, str, WeightFormat | None], list[Operation]]:
    """Reads an activation that has the usual options."""

    def read(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
        for option, value in usual.items():
            if getattr(module, option) != value:
                came = getattr(module, option)
                raise ArgumentError(f"{path or 'model'}: {option} must be {value!r} in a file in C, got {came!r}")
        return [Activation(path, name)]

    return read


_READERS: dict[type[nn.Module], Callable[[nn.Module, str, WeightFormat | None], list[Operation]]] = {
    **dict.fromkeys((GRU, GRUCell, FrozenGRU, FrozenGRUCell, nn.GRU, nn.GRUCell), _gru),
    nn.Linear: _linear,
    nn.LayerNorm: _norm,
    **dict.fromkeys((nn.Identity, nn.Dropout), _nothing),
    nn.Sigmoid: _activation("sigmoid"),
    nn.Tanh: _activation("tanh"),
    nn.ReLU: _activation("relu"),
    nn.Hardsigmoid: _activation("hardsigmoid"),
    nn.Hardtanh: _activation("hardtanh", min_val=-1.0, max_val=1.0),
    nn.Softsign: _activation("softsign"),
    nn.Softplus: _activation("softplus", beta=1.0, threshold=20.0),
    nn.ELU: _activation("elu", alpha=1.0),
    nn.GELU: _activation("gelu", approximate="none"),
    nn.SiLU: _activation("silu"),
}
"""The supported classes; a subclass that overrides `forward` is not supported."""
