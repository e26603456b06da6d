"""The file for a graph: each node of torch's operators becomes lines of C, or another view of existing numbers."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, fx

from ..layers.memory import GRUMemory
from .convolutions import Convolutions
from .expressions import EXPRESSIONS, LANES, VIEWS
from .files import Source, words_of
from .graph import STEP, Graph
from .operations import Recurrence
from .tensors import Operand, Place, Value, arrange, dense
from .units import takes_turns
from .words import STEP_AND_RUN

DTYPES = frozenset(
    (torch.float32, torch.float64, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
)
"""Numbers of these dtypes are floats in C; the rounding of others is not computed."""


def write_graph(graph: Graph, name: str, rest: Tensor | None = None, sample_rate: int | None = None) -> Source:
    """The file for one step of a model, in which every name begins with `name`; rest: its row of states after a reset."""
    writer = GraphWriter(graph, name)
    writer.row, writer.sample_rate = rest, sample_rate
    return writer.source()


def takes(name: str) -> bool:
    """Whether an operator of torch by its name, such as "aten.add.Tensor", is written without taking it apart."""
    operator = operator_of(name)
    return any(operator in table for table in (VIEWS, EXPRESSIONS, LANES)) or _method(operator) is not None


def operator_of(name: str) -> str:
    return name.removeprefix("aten.").partition(".")[0]


def _method(operator: str) -> Any:
    return getattr(GraphWriter, f"op_{operator.lstrip('_')}", None)


class GraphWriter(Convolutions):
    """Writes one step; `values` are the results of the nodes that were read."""

    def __init__(self, graph: Graph, name: str) -> None:
        super().__init__(graph, name)
        self.results: dict[fx.Node, Any] = {}
        self.fields: list[tuple[str, str, int, str]] = []
        self.row: Tensor | None = None

    def source(self) -> Source:
        inputs = iter(["input"])
        for node in self.graph.nodes:
            self.node = node
            if node.op == "placeholder":
                self.results[node] = self._placeholder(node, inputs)
            elif node.users:
                self.results[node] = self._call(node)
        for memory, node in self.graph.written:
            target = f"state->{self._state_of(memory.offset)}"
            self.copy(self.results[node], target, memory.size)
        output: Value = self.results[self.graph.output]
        outputs = output.view.numel()
        self.copy(output, "output", outputs)
        total = arrange(self.places)
        self.sizes.append(total)
        declared = [f"@@_ALIGNED float memory[{total}];"] if self.places else []
        declared += [f"float *const {place.name} = memory + {place.at};" for place in self.places]
        turn = ["state->turn ^= 1u;"] * self.turns
        text = "\n".join(f"    {line}" for line in [*declared, *turn, *self.lines])
        return self._file(self._structure(total), self.fields, outputs, STEP_AND_RUN.replace("<lines>", text))

    def _structure(self, total: int) -> list[str]:
        grus = [f"{gru.path or 'model'}: {words_of(gru)}" for gru in self.grus]
        others = sum(node.op == "call_function" and bool(node.users) for node in self.graph.nodes) - len(grus)
        return [*grus, f"and {others} other operations; a step needs {4 * total} bytes of stack for its values"]

    # Nodes.

    def _placeholder(self, node: fx.Node, inputs: Iterator[str]) -> Any:
        if node.name in self.graph.constants:
            return self.graph.constants[node.name]
        memory = self.graph.states.get(node.name)
        if memory is None:
            shape = node.meta["val"].shape
            return Value(Place(next(inputs), self.inputs), dense(shape))
        if isinstance(memory, GRUMemory):
            return None  # its node reads the state
        field = self._state_of(memory.offset)
        self._add_field(memory.offset, field, memory.size, f"the last inputs of {memory.name}")
        return Value(Place(f"state->{field}", memory.size), dense((1, memory.size)))

    def _add_field(self, offset: int, field: str, size: int, comment: str) -> None:
        """A field of the state, and its part of the row of states after a reset."""
        self.fields.append((field, f"[{size}]", size, comment))
        if self.row is not None:
            self.rest[field] = self.row[offset : offset + size]

    def _state_of(self, offset: int) -> str:
        """The name of a convolution's state in the struct."""
        return f"past{offset}"

    def _call(self, node: fx.Node) -> Any:
        arguments: Any = fx.map_arg(node.args, lambda each: self.results[each])
        options: Any = fx.map_arg(dict(node.kwargs), lambda each: self.results[each])
        name = str(node.target)
        if name == "<built-in function getitem>":
            return arguments[0][arguments[1]]
        if not any(isinstance(each, Value) for each in torch.utils._pytree.tree_leaves((arguments, options))):
            return node.target(*arguments, **options)  # type: ignore[operator]
        for each in torch.utils._pytree.tree_leaves(node.meta.get("val")):
            if isinstance(each, Tensor) and each.dtype not in DTYPES:
                raise self.refusal(f"a file in C computes in float32, got {each.dtype}: use float32 in the model")
        if name.startswith("anygru_c.gru"):
            return self._gru(*arguments)
        operator = operator_of(name)
        if operator.startswith("bitwise_") and node.meta["val"].dtype is torch.bool:
            operator = operator.replace("bitwise", "logical")
        if operator in VIEWS:
            assert callable(node.target)
            return self._view(node.target, arguments, options)
        method = _method(operator)
        if method is None and (operator in EXPRESSIONS or operator in LANES):
            return self._row(operator, arguments, options)
        if not name.startswith("aten.") or method is None:
            raise self.refusal("a file in C has no such operator; docs/deploy.md lists the operators that it has")
        try:
            return method(self, *arguments, **options)
        except TypeError as error:
            raise self.refusal(f"its arguments are not taken: {error}") from error

    def _row(self, operator: str, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Value:
        """An operator of a table, which has arguments for the places of its row and no options."""
        text = EXPRESSIONS.get(operator)
        count = 1 if text is None else len(set(re.findall(r"{\d}", text)))
        if options or len(arguments) != count:
            came = ", ".join(f"{key}={value!r}" for key, value in options.items()) or f"{len(arguments)} arguments"
            raise self.refusal(f"a file in C has it with {count} arguments and no options, got {came}")
        return self.lanes(operator, *arguments) if text is None else self.expression(text, *arguments)

    def _view(self, target: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        """The same numbers with other sizes and strides; torch finds these for a tensor without memory."""
        value, *rest = arguments
        try:
            found = target(value.view, *rest, **options)
        except RuntimeError:  # a view of numbers that are one after another in torch, and not here
            value = self.contiguous(value)
            found = target(value.view, *rest, **options)
        if not isinstance(found, Tensor):
            return [Value(value.place, each) for each in found]
        if found.dtype != value.view.dtype:
            raise self.refusal(f"the bits of a number cannot be read as {found.dtype}: use Tensor.to")
        if found.untyped_storage()._cdata != value.view.untyped_storage()._cdata:  # torch copies
            value = self.contiguous(value)
            found = value.view.reshape(found.shape)
        return Value(value.place, found)

    # GRUs.

    def _gru(self, value: Operand, number: int, kind: int, sizes: list[int], batch_first: bool) -> list[Value | None]:
        """The output as the layer gives it, and for a step the state after it."""
        gru = self.grus[number]
        source = self.value(value)
        source = source if batch_first else Value(source.place, source.view.transpose(0, 1))
        output, state = self._gru_step(gru, number, source) if kind == STEP else (self._gru_sequence(gru, source), None)
        return [output if batch_first else Value(output.place, output.view.transpose(0, 1)), state]

    def _layers(self, gru: Recurrence) -> list[list[str]]:
        """The names of the functions for one step, by layer and direction."""
        name = self._field(gru)
        return [
            [self._direction(gru, one, f"@_{name}_l{number}{'_reverse' * one.reverse}") for one in layer]
            for number, layer in enumerate(gru.layers)
        ]

    def _gru_step(self, gru: Recurrence, number: int, source: Value) -> tuple[Value, Value]:
        """A step [n, 1, I], where n sequences of the GRU are one of the model; the state is [n][layers][hidden]."""
        field, lanes, layers, hidden = self._field(gru), source.shape[0], len(gru.layers), gru.hidden
        count = lanes * layers * hidden
        words = (
            f"[{lanes}][{layers}][{hidden}] of {gru.path or 'the GRU'}"
            if lanes * layers > 1
            else f"of {gru.path or 'the GRU'}"
        )
        self._add_field(self.graph.offsets[number], field, count, words)
        source, turn = self.contiguous(source), ", state->turn" * takes_turns(gru)
        before, calls = f"{source.text} + r * {gru.inputs}" if lanes > 1 else source.text, []
        for layer, (name,) in enumerate(self._layers(gru)):
            at = (
                f"state->{field}"
                + (f" + r * {layers * hidden}" if lanes > 1 else "")
                + f" + {layer * hidden}" * bool(layer)
            )
            calls.append(f"{name}({before}, {at}{turn});")
            before = at
        text = " ".join(calls)
        self.line(f"for (size_t r = 0; r < {lanes}; ++r) {{ {text} }}" if lanes > 1 else text, source)
        place = Place(f"state->{field}", count)
        every = dense((lanes, layers, hidden))
        return Value(place, every[:, -1:]), Value(place, every.transpose(0, 1))

    def _gru_sequence(self, gru: Recurrence, source: Value) -> Value:
        """Sequences [n, S, I] from zeros."""
        source = self.contiguous(source)
        lanes, steps, inputs = source.shape
        states = self.new((gru.hidden,))
        state, turn = states.place.name, ", t % 2" * takes_turns(gru)
        for layer, names in zip(gru.layers, self._layers(gru), strict=True):
            out = self.new((lanes, steps, gru.outputs))
            for side, (one, name) in enumerate(zip(layer, names, strict=True)):
                walk = f"for (size_t t = {steps}; t-- > 0;)" if one.reverse else f"for (size_t t = 0; t < {steps}; ++t)"
                row = f"(r * {steps} + t)" if lanes > 1 else "t"
                call = f"{name}({source.text} + {row} * {inputs}, {state}{turn}); "
                target = f"{out.place.name} + {row} * {gru.outputs} + {side * gru.hidden}"
                call += f"memcpy({target}, {state}, {gru.hidden} * sizeof(float));"
                body = f"memset({state}, 0, {gru.hidden} * sizeof(float)); {walk} {{ {call} }}"
                self.line(
                    f"for (size_t r = 0; r < {lanes}; ++r) {{ {body} }}" if lanes > 1 else body, source, states, out
                )
            source, inputs = out, gru.outputs
        return source
