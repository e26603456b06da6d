"""The parts of every file: its head, its numbers and the functions of its GRUs; the other writers add the calls."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from ..facts.quantization import Stored
from .arrays import ConstantTable, literal
from .functions import ALL_GATES, FUNCTIONS, GATES, with_needs
from .identifiers import as_comment
from .operations import Direction, Recurrence
from .units import TURN, arrays_of_step, grouped, start, step_of_units, takes_turns
from .words import ABOUT, HEAD, RESET


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


CALLS = 128
"""Bytes of the stack that the calls of a step take on an AVR, at least; with avr-gcc 5.4 and -Os they were 150 to 190."""


class FileWriter:
    """The parts of a file that do not depend on the way from one layer to the next.

    Args:
        name: with which every name in the file begins.
        inputs: numbers in the input of a step.
        grus: in the order of their states.
        whole_chunks: whether there are no single steps.
    """

    def __init__(self, name: str, inputs: int, grus: Sequence[Recurrence], whole_chunks: bool = False) -> None:
        self.name, self.inputs, self.grus, self.whole_chunks = name, inputs, grus, whole_chunks
        self.constants = ConstantTable()
        self.wanted: list[str] = []
        """Functions of the table that are called."""
        self.own: dict[str, str] = {}
        """Functions of this model: gates by formula, one for each direction of a layer."""
        self.widest = 0
        """The most columns of a matrix of int8."""
        self.turns = any(map(takes_turns, self.grus)) and not whole_chunks
        """Whether the state stores the end from which the next step reads the weights."""
        self.rest: dict[str, Tensor] = {}
        """The state after a reset, by the names of its fields; empty: zeros."""
        self.sample_rate: int | None = None
        self.math = False
        """Whether the calls themselves need <math.h>."""
        self.values = 0
        self.sizes: list[int] = []
        """Numbers in each value of a step; of a chunk, the scratch memory keeps them for all steps."""
        self.deepest = 0
        """Numbers in the arrays of the step of one direction of a layer."""

    def _file(
        self, structure: Sequence[str], fields: Sequence[tuple[str, str, int, str]], outputs: int, body: str
    ) -> Source:
        """The file.

        Args:
            structure: lines that describe the model.
            fields: of the state: the name, the shape in C, how many numbers, a comment.
            outputs: numbers in the output of a step.
            body: the functions that run the model.
        """
        functions = with_needs(list(dict.fromkeys(self.wanted)))
        starts = "".join(
            f"    @_copy(state->{field}, {self.constants.add_vector(f'@_rest_{field}', state.reshape(-1))}, "
            f"sizeof state->{field});\n"
            for field, state in self.rest.items()
        )
        reset = RESET.replace("<start>", "the state at rest" if starts else "zeros").replace("<starts>", starts)
        math = any(FUNCTIONS[each].math for each in functions) or self.math
        state = sum(4 * count for _, _, count, _ in fields) + 4 * self.turns
        declared = "".join(f"    float {field}{shape}; /* {as_comment(of)} */\n" for field, shape, _, of in fields)
        parts = [
            self._head(structure, declared, outputs, state, math),
            "\n/* ---- The numbers ---- */\n\n",
            "".join(self.constants.text),
            "\n/* ---- The arithmetic ---- */\n",
            *(f"\n{FUNCTIONS[each].text.lstrip()}" for each in functions),
            *(f"\n{text.lstrip()}" for text in self.own.values()),
            "\n/* ---- The model ---- */\n",
            reset,
            body,
            "\n#endif\n",
        ]
        text = "".join(parts).replace("@@", self.name.upper()).replace("@", self.name)
        steps = not self.whole_chunks
        return Source(text, self.name, self.inputs, outputs, steps, math, self.constants.bytes, state)

    def _head(self, structure: Sequence[str], fields: str, width: int, state: int, math: bool) -> str:
        """The description of the model in the file; `state`: how many bytes it has, `math`: whether <math.h> is needed."""
        places = {
            "structure": "\n".join(f"     {line}" for line in structure),
            "flash": f"{self.constants.bytes}u",
            "memory": str(CALLS + state + 4 * (self.deepest + sum(self.sizes) * (not self.whole_chunks))),
            "bytes": f"{self.constants.bytes:,}".replace(",", " "),
            "state": str(state),
            "inputs": str(self.inputs),
            "outputs": str(width),
            "but": " without infinities and NaN" * (self.widest > 0),
            "math": "#include <math.h>\n" if math else "",
            "needs": " (link with -lm)" if math else "",
            "fields": fields,
            "turn": TURN * self.turns,
            "rate": f"#define @@_SAMPLE_RATE {self.sample_rate} /* Hz, of the sound that the model was trained with */\n"
            * (self.sample_rate is not None),
            "use": ABOUT["chunks" if self.whole_chunks else "steps"]
            .replace("<start>", "at rest" if self.rest else "all zeros")
            .rstrip("\n"),
            "most": str(min(16, max(1, min(gru.hidden for gru in self.grus)))),
            "widest": f"#define @@_WIDEST {-(-self.widest // 4)} /* numbers with four columns each */\n"
            * (self.widest > 0),
            "scratch": f"#define @@_SCRATCH(steps) ((steps) * {max(1, sum(self.sizes))}) /* floats */\n"
            * self.whole_chunks,
        }
        head = HEAD
        for place, text in places.items():
            head = head.replace(f"<{place}>", text)
        return head

    def _field(self, gru: Recurrence) -> str:
        """The name of its states in the struct."""
        return f"h{next(i for i, one in enumerate(self.grus) if one is gru)}"

    def _direction(self, gru: Recurrence, own: Direction, name: str) -> str:
        """Writes the step of one direction of one layer, and gives the name of its function."""
        hidden, inputs = gru.hidden, own.weight_ih.values.shape[1]
        gates = self._gates(gru)
        self.deepest = max(self.deepest, arrays_of_step(gru))
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
            self.own.setdefault("add", ADD)
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
            calls.append(f"@_add_rows{'_bfloat16' * half}({weight}, {arguments});")
        if gain:
            self.wanted.append("layer_norm")
            for begin, end in ((0, 2 * hidden), (2 * hidden, 3 * hidden)):
                if begin >= rows.start and end <= rows.stop:  # the norm of both gates, and the norm of the candidate
                    first = begin - rows.start
                    place = f"{target} + {first}" if first else target
                    added = f"{bias} + {first}" if bias else "NULL"
                    calls.append(f"@_layer_norm({place}, {gain} + {first}, {added}, 1e-05f, {end - begin});")
        return calls


ADD = """
static @@_INLINE void @_add(const float *x, const float *y, float *sum, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i) sum[i] = x[i] + y[i];
}
"""


def words_of(one: Recurrence) -> str:
    """A short description of a GRU."""
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
