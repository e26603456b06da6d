"""The text of the file: the constants, then the functions that it needs, then the calls of this model's step, one after another.

Two designs were compared. A single general step that reads a table of sizes would make the shortest file, but loops of unknown
length are slow for small layers. Code written out for each layer is as fast as this, and long.
Here the arithmetic is in a dozen general functions that are compiled for each call's sizes, and a model is a list of calls.
"""

from collections.abc import Sequence

from torch import Tensor

from .arrays import literal
from .files import ADD, FileWriter, Source, words_of
from .functions import APPLY, DOT_BELOW
from .identifiers import as_comment
from .operations import (
    Activation,
    Linear,
    Norm,
    Operation,
    Recurrence,
    Sum,
    input_width,
    recurrences,
    width_after,
)
from .units import start, takes_turns
from .words import BIDIRECTIONAL_RUN, STEP_AND_RUN


def write(found: Sequence[Operation], name: str, rest: Sequence[Tensor] = (), sample_rate: int | None = None) -> Source:
    """The file for these operations, in which every name begins with `name`; rest: the state of each GRU after a reset."""
    writer = _Writer(found, name)
    writer.rest = {writer._field(gru): state for gru, state in zip(writer.grus, rest, strict=bool(rest))}
    writer.sample_rate = sample_rate
    return writer.source()


class _Writer(FileWriter):
    def __init__(self, found: Sequence[Operation], name: str) -> None:
        grus = recurrences(found)
        super().__init__(name, input_width(found), grus, any(gru.directions > 1 for gru in grus))
        self.found = found

    def source(self) -> Source:
        lines: list[str] = []
        value, width = self._chain(self.found, "input", self.inputs, lines)
        fields = []
        for gru in self.grus:
            rows = len(gru.layers) * gru.directions
            fields.append(
                (self._field(gru), f"[{rows}][{gru.hidden}]", rows * gru.hidden, f"of {gru.path or 'the GRU'}")
            )
        return self._file(self._describe(self.found, 0), fields, width, self._body(lines, value, width))

    def _body(self, lines: list[str], value: str, width: int) -> str:
        if self.whole_chunks:
            return BIDIRECTIONAL_RUN.replace("<lines>", "\n".join(lines)).replace("<value>", value)
        if self.turns:
            lines = ["state->turn ^= 1u;", *lines]
        copy = f"memcpy(output, {value}, {width} * sizeof *output);"
        return STEP_AND_RUN.replace("<lines>", "\n".join(f"    {line}" for line in [*lines, copy]))

    def _describe(self, found: Sequence[Operation], depth: int) -> list[str]:
        """A line for each operation."""
        lines = []
        for one in found:
            place = f"{one.path}: " if one.path else ""
            if isinstance(one, Sum):
                lines.append(f"{place}the sum of its input and the output of")
                lines += self._describe(one.operations, depth + 1)
                continue
            lines.append(place + _words(one))
        return [as_comment("  " * depth + line) for line in lines]

    # A model is a list of calls. `value` is the name of an array in C, [features] in a step, [steps][features] in a chunk.

    def _chain(self, found: Sequence[Operation], value: str, width: int, lines: list[str]) -> tuple[str, int]:
        for one in found:
            before = width
            after = width_after(one, width)
            assert after is not None
            width = after
            if isinstance(one, Sum):
                inner, _ = self._chain(one.operations, value, before, lines)
                value = self._map(f"sum of {inner} and {value}", lines, width, inner, value)
            elif isinstance(one, Recurrence):
                value = self._recurrence(one, value, lines)
            else:
                value = self._apply(one, value, before, width, lines)
        return value, width

    def _new(self, width: int, lines: list[str]) -> str:
        """The name of a new value."""
        self.values += 1
        name = f"value{self.values}"
        if self.whole_chunks:
            lines.append(f"    float *const {name} = scratch + steps * {sum(self.sizes)};")
        else:
            lines.append(f"float {name}[{width}];")
        self.sizes.append(width)
        return name

    def _each(self, lines: list[str], calls: Sequence[str]) -> None:
        """Calls for one step, or for each step of a chunk."""
        if not self.whole_chunks:
            lines += calls
            return
        lines.append("    for (t = 0; t < steps; ++t) {")
        lines += [f"        {call}" for call in calls]
        lines.append("    }")

    def _at(self, value: str, width: int) -> str:
        return f"{value} + t * {width}" if self.whole_chunks else value

    def _map(self, comment: str, lines: list[str], width: int, first: str, second: str) -> str:
        new = self._new(width, lines)
        self.own.setdefault("add", ADD)
        call = f"@_add({self._at(first, width)}, {self._at(second, width)}, {self._at(new, width)}, {width});"
        self._each(lines, [call])
        return new

    def _apply(self, one: Linear | Norm | Activation, value: str, before: int, after: int, lines: list[str]) -> str:
        new = self._new(after, lines)
        source, target = self._at(value, before), self._at(new, after)
        own = f"@_{_kind(one)}{self.values}"
        if isinstance(one, Linear):
            weight = self.constants.add_linear(f"{own}_weight", one.weight)
            bias = self.constants.add_vector(f"{own}_bias", one.bias)
            few = after < DOT_BELOW
            self.wanted.append("dots" if few else "products_float32")
            product = f"@_add_{'dots' if few else 'rows'}({weight}, {source}, {target}, {after}, {before});"
            calls = [start(target, bias, after), product]
        elif isinstance(one, Norm):
            weight_name = self.constants.add_vector(f"{own}_weight", one.weight) or "NULL"
            bias_name = self.constants.add_vector(f"{own}_bias", one.bias) or "NULL"
            self.wanted.append("layer_norm")
            norm = f"@_layer_norm({target}, {weight_name}, {bias_name}, {literal(one.epsilon)}, {after});"
            calls = [f"memcpy({target}, {source}, {after} * sizeof *{new});", norm]
        else:
            self.wanted.append(one.name)
            self.own.setdefault(f"apply_{one.name}", APPLY.replace("<activation>", one.name))
            calls = [f"@_apply_{one.name}({source}, {target}, {after});"]
        self._each(lines, calls)
        return new

    # A GRU.

    def _recurrence(self, gru: Recurrence, value: str, lines: list[str]) -> str:
        field, width = self._field(gru), gru.inputs
        for number, layer in enumerate(gru.layers):
            names = [
                self._direction(gru, direction, f"@_{field}_l{number}{'_reverse' * direction.reverse}")
                for direction in layer
            ]
            states = [f"state->{field}[{number * gru.directions + side}]" for side in range(gru.directions)]
            if not self.whole_chunks:
                turn = ", state->turn" * takes_turns(gru)
                lines.append(f"{names[0]}({value}, {states[0]}{turn});")
                value = states[0]
                continue
            new = self._new(gru.outputs, lines)
            for side, (name, state) in enumerate(zip(names, states, strict=True)):
                turn = "for (t = steps; t-- > 0;) {" if layer[side].reverse else "for (t = 0; t < steps; ++t) {"
                place = f"{new} + t * {gru.outputs}" + f" + {gru.hidden}" * side
                lines += [
                    f"    {turn}",
                    f"        if (resets && resets[t]) memset({state}, 0, sizeof {state});",
                    f"        {name}({value} + t * {width}, {state}{', t % 2' * takes_turns(gru)});",
                    f"        memcpy({place}, {state}, sizeof {state});",
                    "    }",
                ]
            value, width = new, gru.outputs
        return value


def _kind(one: Linear | Norm | Activation) -> str:
    return {Linear: "linear", Norm: "norm"}.get(type(one), "value")


def _words(one: Operation) -> str:
    """A short description of an operation."""
    if isinstance(one, Linear):
        return f"linear, {one.weight.shape[1]} to {one.weight.shape[0]}"
    if isinstance(one, Norm):
        return f"layer norm of {one.features}"
    if isinstance(one, Activation):
        return one.name
    assert isinstance(one, Recurrence)
    return words_of(one)
