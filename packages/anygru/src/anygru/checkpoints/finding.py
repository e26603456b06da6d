"""Find GRU layers by the names and shapes of their tensors in any model."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..facts.entries import FORMULA_ENTRY, HALF_ENTRY, SCALE
from .layout import PARTS, CheckpointLayout, matches, own_name, possible, split_prefix
from .reading.content import EntryMark
from .stored import StoredTensor

Sources = dict[str, tuple[str, ...]]
"""The parts of one layer and direction: part -> the tensors' names; empty for a missing bias."""


@dataclass(frozen=True)
class FoundGRU:
    """A GRU in a checkpoint.

    Attributes:
        path: the layer's own name ("encoder.gru"), empty if the whole file is one.
        layout: how it is written.
        input_size, hidden_size, num_layers, bidirectional, bias: as of `anygru.GRU`; bias is False if there is none.
        dtype: of its tensors.
        reset, gate_activation, activation: its formula.
        zoneout: the share of the old state that each step keeps.
        sources: for each layer and direction, forward first, where its parts are.
        names: every tensor that belongs to it, also under its further names.
        frozen: the format of the matrices of a frozen layer ("int8", "bfloat16"), empty for others; dtype is then float32.
        notes: what the file leaves open, and how it was read.
        reverse: its only direction reads each sequence from the last step to the first.
        batch_first: the file's layer takes batches first.
        problem: why it cannot be computed, though its tensors are a GRU's; empty if it can.
        origins: where each layer and direction is in the file, if a mapping cut it: the GRU, and its number there.
    """

    path: str
    layout: CheckpointLayout
    input_size: int
    hidden_size: int
    num_layers: int
    bidirectional: bool
    bias: bool
    dtype: str
    parameters: int
    sources: tuple[Sources, ...]
    names: tuple[str, ...]
    reset: str = "after"
    gate_activation: str = "sigmoid"
    activation: str = "tanh"
    notes: tuple[str, ...] = field(default=())
    frozen: str = ""
    reverse: bool = False
    batch_first: bool = False
    problem: str = ""
    zoneout: float = 0.0
    origins: tuple[tuple["FoundGRU", int], ...] = ()

    @property
    def cell(self) -> bool:
        """Whether it is a cell of one step."""
        return self.layout.cell

    @property
    def formula(self) -> dict[str, str]:
        """Its reset and activations, as arguments of a layer."""
        return {"reset": self.reset, "gate_activation": self.gate_activation, "activation": self.activation}

    @property
    def directions(self) -> int:
        """1, or 2 if it is bidirectional."""
        return 2 if self.bidirectional else 1

    def describe(self) -> str:
        """Describe it in one line."""
        words = [f"{self.layout.name}({self.input_size}, {self.hidden_size})"]
        if not self.cell:
            words.append(f"{self.num_layers} layer{'s' if self.num_layers > 1 else ''}")
            words.append("bidirectional" if self.bidirectional else "reversed" if self.reverse else "one direction")
        words.append(f"reset {self.reset} the product")
        if (self.gate_activation, self.activation) != ("sigmoid", "tanh"):
            words.append(f"gates {self.gate_activation}, candidate {self.activation}")
        if self.zoneout:
            words.append(f"zoneout {self.zoneout:g}")
        if not self.bias:
            words.append("no biases")
        if self.frozen:
            words.append(f"{self.frozen} weights")
        words.append(f"{self.parameters:,} parameters")
        return ", ".join(words)


def find_gru_layers(
    tensors: Mapping[str, StoredTensor],
    layouts: Iterable[CheckpointLayout],
    marks: Mapping[str, EntryMark] | None = None,
    bidirectional: Collection[str] = (),
) -> list[FoundGRU]:
    """Find the GRUs among named tensors.

    Args:
        tensors: by name.
        layouts: the ways to look for, the likeliest first: a tensor belongs to one GRU only.
        marks: the file's metadata of GRUs, by the layer's name.
        bidirectional: names of layers with two directions, if their tensors are ambiguous.

    Returns:
        The GRUs in the order of the file.
    """
    taken: set[str] = set()
    found: list[FoundGRU] = []
    layouts = list(layouts)
    candidates = possible(tensors, layouts)
    for layout in layouts:
        groups: dict[str, list[dict[str, str]]] = defaultdict(list)
        for name, prefix, fields in matches(layout, candidates):
            if name not in taken:
                groups[prefix].append(fields)
        for prefix, hits in groups.items():
            gru = _Candidate(tensors, layout, prefix, hits).examine(split_prefix(prefix) in bidirectional)
            if gru is not None and not taken.intersection(gru.names):
                mark = _mark_of(gru.path, marks or {})
                if prefix + FORMULA_ENTRY in tensors:
                    gru = replace(gru, names=(*gru.names, prefix + FORMULA_ENTRY))
                    mark = mark or EntryMark({"reset": "before"})
                taken.update(gru.names)
                found.append(_apply_mark(gru, mark))
    order = {name: number for number, name in enumerate(tensors)}
    return sorted(found, key=lambda gru: min(order[name] for name in gru.names))


def _mark_of(path: str, marks: Mapping[str, EntryMark]) -> EntryMark | None:
    """The mark of a GRU, or the nearest one above it that covers it."""
    mark, above = marks.get(path), path
    while mark is None and above:
        above = above.rpartition("/")[0]
        mark = found if (found := marks.get(above)) is not None and found.covers else None
    return mark


def _apply_mark(gru: FoundGRU, mark: EntryMark | None) -> FoundGRU:
    if mark is None:
        return gru
    notes = tuple(note for note in gru.notes if note != gru.layout.remark)
    if gru.cell:  # the loop around a cell has a direction
        mark = replace(mark, reverse=False)
    gru = replace(gru, notes=notes + mark.notes, batch_first=mark.batch_first, problem=mark.problem)
    if gru.bidirectional and mark.reverse:
        return replace(gru, problem="it has two directions, and is told to read backwards")
    told = mark.formula.get("reset", gru.reset)
    if gru.layout.columns and gru.bias and told != gru.reset:
        return replace(
            gru, problem=f"its configuration resets {told} the product, its bias has the shape of the other formula"
        )
    formula = {key: float(value) if key == "zoneout" else value for key, value in mark.formula.items()}
    if not mark.reverse and all(getattr(gru, key) == value for key, value in formula.items()):
        return gru
    layout = replace(gru.layout, name=own_name(gru.cell, bool(gru.frozen)), reset=told, marked=True)
    return replace(gru, layout=layout, reverse=mark.reverse, **formula)  # type: ignore[arg-type]


_COMPUTED = ("{}_orig", "{}_g", "parametrizations.{}.original", "parametrizations.{}.original0")
"""The names that pruning, weight norm and parametrizations of torch and Paddle give a tensor instead of its original name."""
_FLOATS = {"float16", "bfloat16", "float32", "float64"}


class _Candidate:
    """Tensors with names like a GRU's."""

    def __init__(
        self, tensors: Mapping[str, StoredTensor], layout: CheckpointLayout, prefix: str, hits: list[dict[str, str]]
    ):
        self._tensors, self._layout, self._prefix, self._hits = tensors, layout, prefix, hits

    def examine(self, known_bidirectional: bool) -> FoundGRU | None:
        """Return the GRU if the tensors form one: complete names, fitting shapes, equal dtypes."""
        fitting = [gru for directions in self._possible_directions() if (gru := self._read(directions)) is not None]
        if len(fitting) > 1:
            words = "two directions" if known_bidirectional else "two layers"
            chosen = fitting[1 if known_bidirectional else 0]
            return replace(
                chosen, notes=(*chosen.notes, f"the shapes fit two layers and two directions: read as {words}")
            )
        return fitting[0] if fitting else None

    def _possible_directions(self) -> list[int]:
        if self._layout.cell:
            return [1]
        if "index" in self._hits[0]:
            return [directions for directions in self._layout.sides if len(self._hits) % directions == 0]
        two = any(hit.get("direction") == self._layout.directions[1] for hit in self._hits)
        directions = 2 if two and "direction" in self._hits[0] else 1
        return [directions] if directions in self._layout.sides else []

    def _read(self, directions: int) -> FoundGRU | None:
        """Read the tensors as a given number of directions, if their numbers leave no gap."""
        layers, rest = divmod(len(self._hits), directions)
        if rest:
            return None
        sources = []
        for number in range(len(self._hits)):
            source = self._sources(number // directions, number % directions, directions)
            if source is None:
                return None
            sources.append(source)
        return self._assemble(sources, layers, directions)

    def _sources(self, layer: int, direction: int, directions: int) -> Sources | None:
        """The names of the parts of one layer and direction, if both weights and all or no biases exist."""
        forbidden = self._layout.names("forbidden", layer, direction, directions)
        if any(self._prefix + name in self._tensors for name in forbidden):
            return None
        source: Sources = {}
        for part in PARTS:
            names = tuple(self._prefix + name for name in self._layout.names(part, layer, direction, directions))
            there = [name in self._tensors for name in names]
            if (there and any(there) != all(there)) or (part in PARTS[:2] and not any(there)):
                return None
            computed = [self._prefix + form.format(name[len(self._prefix) :]) for name in names for form in _COMPUTED]
            if not any(there) and any(name in self._tensors for name in computed):
                return None  # it is not missing
            if names and all(there):
                source[part] = names
        return source

    def _assemble(self, sources: list[Sources], layers: int, directions: int) -> FoundGRU | None:
        sizes = self._sizes(sources[0])
        if sizes is None:
            return None
        input_size, hidden_size = sizes
        for number, source in enumerate(sources):
            features = input_size if number < directions else hidden_size * directions
            if not self._shapes_fit(source, features, hidden_size):
                return None
        names = [name for source in sources for part in source.values() for name in part]
        dtype, frozen = self._dtype(sources)
        if not dtype:
            return None
        entry = self._prefix + HALF_ENTRY
        marks = [entry] if entry in self._tensors else []
        biases, *others = [[part for part in source if part in ("bias_ih", "bias_hh")] for source in sources]
        if any(set(one) != set(biases) for one in others):
            return None
        return FoundGRU(
            path=split_prefix(self._prefix),
            layout=replace(self._layout, name=own_name(self._layout.cell, True)) if frozen else self._layout,
            input_size=input_size,
            hidden_size=hidden_size,
            num_layers=layers,
            bidirectional=directions == 2,
            bias=bool(biases),
            dtype=dtype,
            parameters=sum(self._tensors[name].values.size for name in names),
            sources=tuple(sources),
            names=tuple(names + self._aliases(sources, directions) + self._scales(names) + marks),
            reset=self._layout.reset,
            notes=tuple(self._notes(biases)),
            frozen=frozen,
        )

    def _notes(self, biases: list[str]) -> Iterator[str]:
        """A note on a GRU with these biases."""
        if len(biases) == 1 and self._layout.bias_hh and not self._layout.concatenated:
            yield f"only {biases[0]} is there: the other bias is read as zeros"
        if self._layout.columns and not biases:
            yield "without biases its tensors leave the formula open: read as reset after the product, Keras's default"
        if self._layout.remark:
            yield self._layout.remark

    def _dtype(self, sources: list[Sources]) -> tuple[str, str]:
        """The dtype that the GRU computes in, and the format of a frozen one's matrices; two empty texts if there is none."""
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for source in sources:
            for part, names in source.items():
                found[part in PARTS[:2]] |= {self._tensors[name].dtype for name in names}
        matrices, biases = found[True], found[False]
        marked = self._prefix + HALF_ENTRY in self._tensors
        if len(matrices | biases) == 1 and matrices <= _FLOATS and not marked:
            return matrices.pop(), ""
        if biases <= {"float32"} and matrices in ({"int8"}, {"bfloat16"}) and self._layout.freezable:
            return "float32", matrices.pop()
        return "", ""

    def _scales(self, names: list[str]) -> list[str]:
        return [name + SCALE for name in names if self._tensors[name].dtype == "int8"]

    def _sizes(self, source: Sources) -> tuple[int, int] | None:
        """Input and hidden size, from the shapes of the first layer's matrices."""
        first = self._tensors[source["weight_ih"][0]].shape
        second = self._tensors[source["weight_hh"][0]].shape
        if len(first) != 2 or len(second) != 2 or 0 in first + second:
            return None
        if self._layout.columns:
            return first[0], second[0]
        if not self._layout.concatenated:
            return first[1], second[1]
        hidden_size = second[1]
        return (second[0] - hidden_size, hidden_size) if second[0] > hidden_size else None

    def _shapes_fit(self, source: Sources, features: int, hidden: int) -> bool:
        if self._layout.concatenated:
            rows = features + hidden
            expected: dict[str, tuple[int, ...]] = {"weight_ih": (rows, 2 * hidden), "weight_hh": (rows, hidden)}
            expected |= {"bias_ih": (2 * hidden,), "bias_hh": (hidden,)}
            if ("bias_ih" in source) != ("bias_hh" in source):
                return False
        elif self._layout.columns:
            biases = (2, 3 * hidden) if self._layout.reset == "after" else (3 * hidden,)
            expected = {"weight_ih": (features, 3 * hidden), "weight_hh": (hidden, 3 * hidden), "bias_ih": biases}
        else:
            stacked = 3 * hidden if len(self._layout.weight_ih) == 1 else hidden
            expected = {"weight_ih": (stacked, features), "weight_hh": (stacked, hidden)}
            expected |= {"bias_ih": (stacked,), "bias_hh": (stacked,)}
        return all(
            self._tensors[name].shape == expected[part]
            and (self._tensors[name].dtype in _FLOATS or self._is_quantized(name))
            for part, names in source.items()
            for name in names
        )

    def _is_quantized(self, name: str) -> bool:
        """Whether it is an int8 matrix of a frozen layer with a scale."""
        values, scale = self._tensors[name], self._tensors.get(name + SCALE)
        right = scale is not None and scale.dtype == "float32" and scale.shape == values.shape[:1]
        return right and values.dtype == "int8" and self._layout.freezable

    def _aliases(self, sources: list[Sources], directions: int) -> list[str]:
        """Further names of the same tensors; names of different tensors are kept."""
        names = []
        for number, source in enumerate(sources):
            for part, (name, *_) in source.items():
                for alias in self._layout.alias_names(part, number // directions, number % directions, directions):
                    other = self._tensors.get(self._prefix + alias)
                    if other is not None and other.same_bits(self._tensors[name]):
                        names.append(self._prefix + alias)
        return names
