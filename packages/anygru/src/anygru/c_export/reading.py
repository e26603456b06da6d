"""From a model to the list of operations that the file in C performs, each with its numbers; and those that it cannot take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ..errors import AnygruError, ArgumentError, ArgumentTypeError
from ..facts.formula import activation_name
from ..facts.quantization import Stored, WeightFormat, check, check_format
from ..facts.weights import KINDS, Layout, Weights
from ..layers.frozen import Frozen
from ..layers.gru import GRU, FrozenGRU, FrozenGRUCell, GRUCell
from ..layers.recurrent import is_reparametrization, settle_weights
from .residual import Residual


@dataclass(frozen=True)
class Direction:
    """One direction of one layer of a GRU: its matrices as they are stored, and vectors [3H] or None."""

    weight_ih: Stored
    weight_hh: Stored
    bias_ih: Tensor | None = None
    bias_hh: Tensor | None = None
    gain_ih: Tensor | None = None
    gain_hh: Tensor | None = None
    reverse: bool = False


@dataclass(frozen=True)
class Recurrence:
    """A GRU or a cell."""

    path: str
    inputs: int
    hidden: int
    layers: tuple[tuple[Direction, ...], ...]
    reset: str
    gate_activation: str
    activation: str
    zoneout: float
    weights: str
    """The format of the matrices."""

    @property
    def directions(self) -> int:
        return len(self.layers[0])

    @property
    def outputs(self) -> int:
        return self.directions * self.hidden


@dataclass(frozen=True)
class Linear:
    path: str
    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True)
class Norm:
    path: str
    features: int
    weight: Tensor | None
    bias: Tensor | None
    epsilon: float


@dataclass(frozen=True)
class Activation:
    path: str
    name: str


@dataclass(frozen=True)
class Sum:
    """The output of the operations, and the input of the first added to it."""

    path: str
    operations: tuple["Operation", ...]


Operation = Recurrence | Linear | Norm | Activation | Sum


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


def recurrences(found: Sequence[Operation]) -> list[Recurrence]:
    """The GRUs among operations, in their order."""
    every: list[Recurrence] = []
    for one in found:
        if isinstance(one, Recurrence):
            every.append(one)
        elif isinstance(one, Sum):
            every += recurrences(one.operations)
    return every


def width_after(one: Operation, width: int | None) -> int | None:
    """The features of an operation's output, from those of its input; None while they are not known."""
    wanted, given = _widths(one)
    if wanted is not None and width is not None and wanted != width:
        raise ArgumentError(f"{one.path or 'model'} takes {wanted} features, and the module before it gives {width}")
    if not isinstance(one, Sum):
        return given or width
    inside = wanted or width
    for inner in one.operations:
        inside = width_after(inner, inside)
    if inside != (wanted or width):
        raise ArgumentError(f"{one.path or 'model'} adds its input of {wanted or width} features to {inside}")
    return inside


def input_width(found: Sequence[Operation]) -> int:
    """The features of a step, which some operation before any change of their number tells; the widths are checked.

    Raises:
        ArgumentError: a module takes another number of features than the one before it gives.
    """
    first = _first_width(found)
    assert first is not None  # there is a GRU
    width: int | None = first
    for one in found:
        width = width_after(one, width)
    return first


def _first_width(found: Sequence[Operation]) -> int | None:
    return next((wanted for wanted, _ in map(_widths, found) if wanted is not None), None)


def _widths(one: Operation) -> tuple[int | None, int | None]:
    """The features that an operation takes and gives; None: any, and as many as it takes."""
    if isinstance(one, Recurrence):
        return one.inputs, one.outputs
    if isinstance(one, Linear):
        return one.weight.shape[1], one.weight.shape[0]
    if isinstance(one, Norm):
        return one.features, one.features
    if isinstance(one, Sum):
        wanted = _first_width(one.operations)
        return wanted, wanted
    return None, None


def check_numbers(found: Sequence[Operation]) -> None:
    """Raises for infinities and NaN, which have no literal in C, and for int8 values that no frozen layer has."""
    for one in found:
        if isinstance(one, Sum):
            check_numbers(one.operations)
            continue
        tensors: list[tuple[str, Tensor | Stored | None]] = []
        if isinstance(one, Recurrence):
            for number, layer in enumerate(one.layers):
                for direction in layer:
                    suffix = f"_l{number}" + "_reverse" * direction.reverse
                    tensors += [(kind + suffix, getattr(direction, kind)) for kind in KINDS]
        elif not isinstance(one, Activation):
            tensors += [("weight", one.weight), ("bias", one.bias)]
        for name, tensor in tensors:
            place = f"{one.path}.{name}" if one.path else name
            if isinstance(tensor, Stored):
                for ending, reason in check(tensor):
                    raise ArgumentError(f"{place}{ending}: {reason}")
                tensor = tensor.values
            if tensor is not None and not bool(torch.isfinite(tensor.float()).all()):
                raise ArgumentError(f"{place} must be finite, and one value is infinite or NaN")


def _read(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    """The operations of one module; `path` is its name in the model."""
    parts = getattr(module, "c_parts", None)
    if parts is not None:
        inner = parts()
        if not isinstance(inner, nn.Module):
            came = type(inner).__name__
            raise ArgumentTypeError(f"{path or 'model'}: c_parts() must return a torch.nn.Module, got {came}")
        return _read(inner, path, weights)
    if any(map(is_lazy, module.parameters(recurse=False))):
        raise ArgumentError(f"{path or 'model'} has seen no input yet, so its sizes are not known: call the model once")
    _check_hooks(module, path)
    if type(module) in (nn.Sequential, Residual):
        found: list[Operation] = []
        for name, child in module._modules.items():  # named_children leaves out a module's second place
            assert child is not None
            found += _read(child, f"{path}.{name}" if path else name, weights)
        if type(module) is nn.Sequential:
            return found
        if not found:
            raise ArgumentError(f"{path or 'model'}: a Residual needs modules")
        return [Sum(path, tuple(found))]
    read = next((read for kind, read in _READERS.items() if isinstance(module, kind)), None)
    if read is not None and type(module).forward is not _forward_of(module):
        raise ArgumentTypeError(f"{path or 'model'}: {type(module).__name__} has a `forward` of its own; {_REMEDY}")
    if read is None:
        came = f"{type(module).__module__}.{type(module).__name__}"
        raise ArgumentTypeError(
            f"{path or 'model'}: a file in C has no {came}; it takes GRUs, nn.Sequential, Residual, Linear, LayerNorm and "
            f"activations; {_REMEDY}"
        )
    return read(module, path, weights)


_REMEDY = "for a module of your own, define a method c_parts() that returns an equal nn.Sequential"


def _forward_of(module: nn.Module) -> Any:
    """The `forward` of the known class that a module is an instance of."""
    return next(kind.forward for kind in _READERS if isinstance(module, kind))


def _check_hooks(module: nn.Module, path: str) -> None:
    others = [hook for hook in module._forward_pre_hooks.values() if not is_reparametrization(hook)]
    if others or module._forward_hooks or "forward" in module.__dict__:
        raise ArgumentError(f"{path or 'model'}: it has hooks or a `forward` of its own, which C cannot run")
    settle_weights(module)


def _vector(tensor: Tensor | None, name: str) -> Tensor | None:
    """A copy in memory of a vector or a matrix that must be float32."""
    if tensor is None:
        return None
    if tensor.is_meta:
        raise ArgumentError(f"{name} must have values, got a tensor on meta")
    if tensor.dtype is not torch.float32:
        raise ArgumentTypeError(f"{name} must be float32, got {tensor.dtype}: call the model's float() first")
    return tensor.detach().cpu().clone()


def _gru(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    layer: Any = module
    name = path or "model"
    if isinstance(module, (nn.GRU, nn.GRUCell)):
        layer = _ours(module)
    for argument in ("gate_activation", "activation"):
        if not isinstance(getattr(layer, argument), str):
            chosen = activation_name(getattr(layer, argument))
            raise ArgumentError(f"{name}: {argument} is the function {chosen}, which C cannot call; use a name")
    if layer.groups > 1:
        raise ArgumentError(
            f"{name}: groups={layer.groups}, which a file in C has not; export the layer that ungrouped() gives"
        )
    zoneout = 0.0 if isinstance(layer, Frozen) else float(layer.zoneout)
    stored, used = _stored(layer, name, weights)
    layout = layer.layout if isinstance(layer, Frozen) else _layout(layer)
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
    return [Recurrence(path, layer.input_size, layer.hidden_size, tuple(layers), *formula, zoneout, used)]


def _on_cpu(stored: Stored) -> Stored:
    scale = None if stored.scale is None else stored.scale.detach().cpu()
    return Stored(stored.values.detach().cpu(), scale)


def _layout(layer: Any) -> Layout:
    if isinstance(layer, GRUCell):
        return Layout(1, False, layer.bias, norm=layer.norm is not None)
    return Layout(layer.num_layers, layer.bidirectional, layer.bias, norm=layer.norm is not None)


def _stored(layer: Any, name: str, weights: WeightFormat | None) -> tuple[list[Stored], WeightFormat]:
    """The flat weights of a layer in the format that was asked for, and its name."""
    if isinstance(layer, Frozen):
        if weights is not None and weights != layer.weights:
            raise ArgumentError(
                f"{name}: weights={weights!r}, and the layer is frozen with {layer.weights!r}, which it keeps: leave "
                "`weights` out, or export the layer that was frozen"
            )
        return layer.stored(), layer.weights
    if weights in (None, "float32"):
        names = layer._weight_names
        return [Stored(_vector(tensor, name)) for tensor in layer._current(names)], "float32"  # type: ignore[arg-type]
    try:
        frozen = layer.freeze(weights)
    except AnygruError as error:
        raise type(error)(f"{name}: {error}") from error
    return frozen.stored(), weights


def _ours(module: nn.Module) -> GRU | GRUCell:
    """A layer of anygru around the weights of one of torch."""
    layer: Any = module
    if isinstance(module, nn.GRUCell):
        tensors = [getattr(layer, kind) for kind in KINDS[:4] if getattr(layer, kind, None) is not None]
        return GRUCell.around(Weights.of(tensors, False, layer.bias))
    tensors = [getattr(layer, name) for name in layer._flat_weights_names]
    return GRU.around(Weights.of(tensors, layer.bidirectional, layer.bias), batch_first=layer.batch_first)


def _linear(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    weight, bias = (_vector(getattr(module, kind), f"{path or 'model'}.{kind}") for kind in ("weight", "bias"))
    assert weight is not None
    return [Linear(path, weight, bias)]


def _norm(module: nn.Module, path: str, weights: WeightFormat | None) -> list[Operation]:
    assert isinstance(module, nn.LayerNorm)
    if len(module.normalized_shape) != 1:
        raise ArgumentError(f"{path or 'model'}: LayerNorm must be over the features, got {module.normalized_shape}")
    weight, bias = (_vector(getattr(module, kind), f"{path or 'model'}.{kind}") for kind in ("weight", "bias"))
    return [Norm(path, module.normalized_shape[0], weight, bias, module.eps)]


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
"""What can be read; a subclass with a `forward` of its own cannot."""
