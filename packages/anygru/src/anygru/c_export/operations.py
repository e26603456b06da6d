"""The operations of a file in C with their numbers, the widths between them, and checks of the numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import ArgumentError
from ..facts.quantization import Stored, check
from ..facts.weights import KINDS


@dataclass(frozen=True)
class Direction:
    """One direction of one layer of a GRU: its matrices in stored form, and vectors [3H] or None."""

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
    """The features of an operation's output, given the features of its input; None while they are not known."""
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
    """The features of a step, from the first operation that determines them; the widths are checked.

    Raises:
        ArgumentError: a module takes a different number of features than its predecessor gives.
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
