"""The text of the file: the constants, then the functions that it needs, then the calls of this model's step, one after another.

Two designs were compared. A single general step that reads a table of sizes would make the shortest file, but loops of unknown
length are slow for small layers. Code written out for each layer is as fast as this, and long.
Here the arithmetic is in a dozen general functions that are compiled for each call's sizes, and a model is a list of calls.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from ..facts.quantization import Stored
from .arrays import ConstantTable, literal
from .functions import ALL_GATES, APPLY, DOT_BELOW, FUNCTIONS, GATES, with_needs
from .identifiers import as_comment
from .operations import (
    Activation,
    Direction,
    Linear,
    Norm,
    Operation,
    Recurrence,
    Sum,
    input_width,
    recurrences,
    width_after,
)
from .units import TURN, grouped, start, step_of_units, takes_turns
from .words import ABOUT, BIDIRECTIONAL_RUN, HEAD, RESET, STEP_AND_RUN


class Source(NamedTuple):
    """A file in C."""

    text: str
    name: str
    inputs: int
    outputs: int
    steps: bool
    """Whether it has single steps: no layer reads a sequence from its end."""
    math: bool
    """Whether it needs <math.h>."""
    constants: int
    """Bytes of the numbers."""
    state: int
    """Bytes of a state."""


def write(found: Sequence[Operation], name: str) -> Source:
    """The file for these operations, in which every name begins with `name`."""
    return _Writer(found, name).source()


class _Writer:
    def __init__(self, found: Sequence[Operation], name: str) -> None:
        self.found, self.name = found, name
        self.inputs = input_width(found)
        self.constants = ConstantTable()
        self.wanted: list[str] = []
        """Functions of the table that are called."""
        self.own: dict[str, str] = {}
        """Functions of this model: gates by formula, one for each direction of a layer."""
        self.widest = 0
        """The most columns of a matrix of int8."""
        self.grus = recurrences(found)
        self.whole_chunks = any(gru.directions > 1 for gru in self.grus)
        self.turns = any(map(takes_turns, self.grus)) and not self.whole_chunks
        """Whether the state stores the end from which the next step reads the weights."""
        self.values = 0
        self.sizes: list[int] = []
        """Features of each value that the scratch memory of a chunk keeps for all steps."""

    def source(self) -> Source:
        lines: list[str] = []
        value, width = self._chain(self.found, "input", self.inputs, lines)
        body = self._body(lines, value, width)
        functions = with_needs(list(dict.fromkeys(self.wanted)))
        math = any(FUNCTIONS[each].math for each in functions)
        state = sum(4 * len(gru.layers) * gru.directions * gru.hidden for gru in self.grus) + 4 * self.turns
        parts = [
            self._head(width, state, math),
            "\n/* ---- The numbers ---- */\n\n",
            "".join(self.constants.text),
            "\n/* ---- The arithmetic ---- */\n",
            *(f"\n{FUNCTIONS[each].text.lstrip()}" for each in functions),
            *(f"\n{text.lstrip()}" for text in self.own.values()),
            "\n/* ---- The model ---- */\n",
            RESET,
            body,
            "\n#endif\n",
        ]
        text = "".join(parts).replace("@@", self.name.upper()).replace("@", self.name)
        return Source(text, self.name, self.inputs, width, not self.whole_chunks, math, self.constants.bytes, state)

    def _head(self, width: int, state: int, math: bool) -> str:
        """The description of the model in the file; `state`: how many bytes it has, `math`: whether <math.h> is needed."""
        fields = "".join(
            f"    float {self._field(gru)}[{len(gru.layers) * gru.directions}][{gru.hidden}];"
            f" /* of {as_comment(gru.path or 'the GRU')} */\n"
            for gru in self.grus
        )
        places = {
            "structure": "\n".join(f"     {line}" for line in self._describe(self.found, 0)),
            "bytes": f"{self.constants.bytes:,}".replace(",", " "),
            "state": str(state),
            "inputs": str(self.inputs),
            "outputs": str(width),
            "but": " without infinities and NaN" * (self.widest > 0),
            "math": "#include <math.h>\n" if math else "",
            "needs": " (link with -lm)" if math else "",
            "fields": fields,
            "turn": TURN * self.turns,
            "use": ABOUT["chunks" if self.whole_chunks else "steps"].rstrip("\n"),
            "most": str(min(16, max(1, min(gru.hidden for gru in self.grus)))),
            "widest": f"#define @@_WIDEST {(self.widest + 3) // 4 * 2} /* numbers with two rounded ones each */\n"
            * (self.widest > 0),
            "scratch": f"#define @@_SCRATCH(steps) ((steps) * {max(1, sum(self.sizes))}) /* floats */\n"
            * self.whole_chunks,
        }
        head = HEAD
        for place, text in places.items():
            head = head.replace(f"<{place}>", text)
        return head

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
            self.sizes.append(width)
        else:
            lines.append(f"float {name}[{width}];")
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
        self.own.setdefault("add", _ADD)
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
            product = f"@_add_{'dots' if few else 'products'}({weight}, {source}, {target}, {after}, {before});"
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

    def _field(self, gru: Recurrence) -> str:
        """The name of its states in the struct."""
        return f"h{next(i for i, one in enumerate(self.grus) if one is gru)}"

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

    def _direction(self, gru: Recurrence, own: Direction, name: str) -> str:
        """Writes the step of one direction of one layer, and gives the name of its function."""
        hidden, inputs = gru.hidden, own.weight_ih.values.shape[1]
        gates = self._gates(gru)
        if grouped(gru):
            step = step_of_units(gru, own, name, gates, self.constants)
            self.own[name] = step.text
            self.wanted.append(f"products_{gru.weights}")
            self.widest = max(self.widest, step.widest)
            return name
        whole = slice(0, 3 * hidden)
        body = [f"float from_input[{3 * hidden}], from_state[{3 * hidden}];"]
        body += self._product(own, name, "ih", "x", inputs, hidden, whole)
        if gru.reset == "after":
            body += self._product(own, name, "hh", "h", hidden, hidden, whole)
            self.own.setdefault("add", _ADD)
            body.append(f"@_add(from_input, from_state, from_state, {2 * hidden});")
            body.append(f"@_{gates}(from_input + {2 * hidden}, from_state, h, h, {hidden});")
        else:
            body[0] = body[0][:-1] + f", read[{hidden}];"
            body += self._product(own, name, "hh", "h", hidden, hidden, slice(0, 2 * hidden))
            body.append(f"@_{gates}_reset(from_input, from_state, h, read, {hidden});")
            body += self._product(own, name, "hh", "read", hidden, hidden, slice(2 * hidden, 3 * hidden))
            body.append(f"@_{gates}(from_input, from_state, h, h, {hidden});")
        lines = "\n".join(f"    {line}" for line in body)
        self.own[name] = (
            f"/* The state h[{hidden}] after a step that reads x[{inputs}]. */\n"
            f"static inline void {name}(const float *x, float *h) {{\n{lines}\n}}\n"
        )
        return name

    def _gates(self, gru: Recurrence) -> str:
        usual = (gru.gate_activation, gru.activation) == ("sigmoid", "tanh")
        name = f"gates_{gru.reset}" + ("" if usual else f"_{gru.gate_activation}_{gru.activation}")
        kept = "z"
        if gru.zoneout:
            name += f"_{self._field(gru)}"
            kept = f"(z + {literal(gru.zoneout)} * (1.0f - z))"
        text = GATES[gru.reset] + ALL_GATES
        for place, word in (
            ("name", name),
            ("kept", kept),
            ("gate", gru.gate_activation),
            ("candidate", gru.activation),
        ):
            text = text.replace(f"<{place}>", word)
        self.own.setdefault(name, text)
        self.wanted += [gru.gate_activation, gru.activation]
        return name

    def _product(
        self, own: Direction, name: str, suffix: str, x: str, columns: int, hidden: int, rows: slice
    ) -> list[str]:
        """The calls for some rows of the product with weight_ih or weight_hh, its norm and its bias included."""
        stored: Stored = getattr(own, f"weight_{suffix}")
        part = Stored(stored.values[rows], None if stored.scale is None else stored.scale[rows])
        count = len(part.values)
        ending = "" if count == 3 * hidden else "_gates" if rows.start == 0 else "_candidate"
        weight, scale = self.constants.add_matrix(f"{name}_weight_{suffix}{ending}", part)
        vectors: dict[str, Tensor | None] = {kind: getattr(own, f"{kind}_{suffix}") for kind in ("bias", "gain")}
        bias, gain = (
            self.constants.add_vector(f"{name}_{kind}_{suffix}{ending}", None if vector is None else vector[rows])
            for kind, vector in vectors.items()
        )
        target = "from_input" if suffix == "ih" else "from_state"
        target += f" + {rows.start}" * bool(rows.start)
        calls = [start(target, None if gain else bias, count)]
        arguments = f"{x}, {target}, {count}, {columns}"
        if scale is not None:
            self.wanted.append("products_int8")
            self.widest = max(self.widest, columns)
            calls.append(f"@_add_products_int8({weight}, {scale}, {arguments});")
        else:
            half = part.values.element_size() == 2
            self.wanted.append("products_bfloat16" if half else "products_float32")
            calls.append(f"@_add_products{'_bfloat16' * half}({weight}, {arguments});")
        if gain:
            self.wanted.append("layer_norm")
            for begin, end in ((0, 2 * hidden), (2 * hidden, 3 * hidden)):
                if begin >= rows.start and end <= rows.stop:  # the norm of both gates, and the norm of the candidate
                    first = begin - rows.start
                    place = f"{target} + {first}" if first else target
                    added = f"{bias} + {first}" if bias else "NULL"
                    calls.append(f"@_layer_norm({place}, {gain} + {first}, {added}, 1e-05f, {end - begin});")
        return calls


_ADD = """
static @@_INLINE void @_add(const float *x, const float *y, float *sum, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i) sum[i] = x[i] + y[i];
}
"""


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
    layers = f", {len(one.layers)} layers" if len(one.layers) > 1 else ""
    both = ", both directions" if one.directions > 1 else ""
    norm = ", layer norm" if one.layers[0][0].gain_ih is not None else ""
    zoneout = f", zoneout {one.zoneout:g}" if one.zoneout else ""
    usual = (one.gate_activation, one.activation) == ("sigmoid", "tanh")
    functions = "" if usual else f", {one.gate_activation} and {one.activation}"
    return (
        f"GRU, {one.inputs} to {one.hidden}{layers}{both}, reset {one.reset} the product{functions}{norm}{zoneout}, "
        f"{one.weights} weights"
    )
