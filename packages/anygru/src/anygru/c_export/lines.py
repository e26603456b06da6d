"""The lines of one step of a graph, and the places of its values."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, fx

from ..errors import ArgumentError
from .arrays import literal
from .files import FileWriter
from .graph import Graph, module_of
from .tensors import Place, Value, dense, loops


class Lines(FileWriter):
    """Lines that compute values from values; `node` is the node that they are for."""

    def __init__(self, graph: Graph, name: str) -> None:
        super().__init__(name, math.prod(graph.machine.step_shape), graph.grus)
        self.graph = graph
        self.lines: list[str] = []
        self.places: list[Place] = []
        self.node: fx.Node | None = None
        self.known: dict[int, tuple[Tensor, Value]] = {}
        """Constants by the identity of their tensors."""

    def new(self, shape: Sequence[int]) -> Value:
        """A value in the memory of a step."""
        self.values += 1
        view = dense(shape)
        place = Place(f"v{self.values}", view.numel(), [len(self.lines)])
        self.places.append(place)
        return Value(place, view)

    def line(self, text: str, *used: Value) -> None:
        """Adds a line that uses these values."""
        for value in used:
            value.place.lines.append(len(self.lines))
        self.lines.append(text)

    def compute(self, out: Value, expression: str, *values: Value) -> Value:
        """A line that computes an expression for each number of `out`; the values are broadcast."""
        views = [value.view.expand(out.view.shape) for value in values]
        operands = [(value, view.stride()) for value, view in zip((out, *values), (out.view, *views), strict=True)]
        self.line(loops(out.shape, operands, expression), out, *values)
        return out

    def copy(self, value: Value, target: str, count: int) -> None:
        """Copies a value to an address."""
        out = Value(Place(target, count), dense(value.shape))
        if value.view.is_contiguous() and not value.place.constant:
            self.line(f"memcpy({target}, {value.text}, {count} * sizeof(float));", value)
        else:
            self.compute(out, "{0} = {1};", value)

    def contiguous(self, value: Value) -> Value:
        """The value with its numbers one after another, in memory."""
        if value.view.is_contiguous() and not value.place.constant:
            return value
        return self.compute(self.new(value.shape), "{0} = {1};", value)

    def reshaped(self, value: Value, shape: list[int]) -> Value:
        """The value with other sizes."""
        value = self.contiguous(value)
        return Value(value.place, value.view.reshape(shape))

    def constant(self, name: str, values: Tensor) -> Value:
        """A constant of the file."""
        values = values.detach().cpu().float().contiguous()
        if not bool(values.isfinite().all()):
            raise self.refusal(f"{name} must be finite, and one value is infinite or NaN")
        text = self.constants.add(f"@_{name}", values, str(list(values.shape)))
        return Value(Place(text, values.numel(), constant=True), dense(values.shape))

    def numbers(self, value: object) -> Tensor:
        """The tensor of an argument that must be a constant."""
        if isinstance(value, Tensor):
            return value.detach().cpu()
        raise self.refusal("its weights are computed from the input, which a file in C does not take")

    def value(self, argument: object) -> Value:
        """The value of an argument; a tensor of weights becomes a constant of the file, and is used as often as it occurs."""
        if isinstance(argument, Value):
            return argument
        if isinstance(argument, Tensor):
            if id(argument) not in self.known:
                self.values += 1
                self.known[id(argument)] = argument, self.constant(f"c{self.values}", argument)
            return self.known[id(argument)][1]
        raise self.refusal(f"an argument must be a tensor, got {type(argument).__name__}")

    def refusal(self, words: str) -> ArgumentError:
        assert self.node is not None
        return ArgumentError(f"{module_of(self.node)}: {self.node.target}: {words}")

    def pad(self, value: Value, padding: list[int], number: float = 0.0) -> Value:
        """The value with more numbers around it; padding as of `torch.nn.functional.pad`, the last axis first."""
        if not any(padding):
            return value
        if min(padding) < 0:
            raise self.refusal("a negative padding is not taken: use a slice")
        shape, sides = value.shape, list(zip(padding[::2], padding[1::2], strict=True))
        inner = [slice(None)] * len(shape)
        for axis, (before, after) in zip(range(len(shape) - 1, -1, -1), sides, strict=False):
            inner[axis] = slice(before, before + shape[axis])
            shape[axis] += before + after
        out = self.new(shape)
        self.compute(out, f"{{0}} = {self.literal(number)};")
        self.compute(Value(out.place, out.view[tuple(inner)]), "{0} = {1};", value)
        return out

    def literal(self, number: float) -> str:
        """A number in C."""
        found = torch.tensor(float(number), dtype=torch.float32).item()
        if not math.isfinite(found):
            raise self.refusal(f"a number must be finite in float32, got {number!r}")
        return literal(found)
