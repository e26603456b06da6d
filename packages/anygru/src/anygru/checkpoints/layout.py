"""How a framework lays a GRU out in a file: the names of its tensors, their shapes, the formula behind them.

The differences between frameworks are data, so here they are data. A layout names the tensors that make up the four
core weights (see `anygru.gates`); `anygru.gates` permutes and negates their rows.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
"""The core weights of one layer and direction, in the order of `anygru.functional.gru`."""


@dataclass(frozen=True)
class CheckpointLayout:
    """One way to write a GRU.

    The names may have {layer}, {direction} and {index} (layer * directions + direction) in them. A part with one name is
    stacked in `order`; a part with three names has a tensor for each of r, z and n.

    Attributes:
        name: the name of such a layer in messages.
        cell: a cell of one step, with neither layers nor directions.
        weight_ih, weight_hh, bias_ih, bias_hh: the names; an empty bias_hh means that only the input has a bias.
        directions: the values of {direction}, forward and backward.
        sides: how many directions such a layer can have.
        separators: the separators between the layer's name and these; the first is written.
        order: the order of the gates in a stacked part.
        reset: "after" or "before"; see `anygru.formula`.
        blend: "(1-z)n+zh", or "zn+(1-z)h" (then the update rows are the core's negated).
        concatenated: the parts are matrices for the concatenation of x and h, [I+H, 2H] and [I+H, H], and their biases:
            weight_ih and bias_ih belong to the gates, weight_hh and bias_hh to the candidate.
        columns: the matrices are transposed, [I, 3H] and [H, 3H]; under reset="after" both biases are one tensor [2, 3H],
            which bias_ih names.
        aliases: names under which the framework stores the same tensors again, in the order of the parts.
        forbidden: names that indicate another kind of layer (an LSTM with a projection).
        marked: the formula is not part of the framework, so the file's metadata must name it.
        always_biased: the framework's layer has biases, so that a GRU without any gets zeros.
        remark: a note for readers of the file.
    """

    name: str
    cell: bool
    weight_ih: tuple[str, ...]
    weight_hh: tuple[str, ...]
    bias_ih: tuple[str, ...] = ()
    bias_hh: tuple[str, ...] = ()
    directions: tuple[str, str] = ("", "")
    sides: tuple[int, ...] = (1, 2)
    separators: str = "./"
    order: str = "rzn"
    reset: str = "after"
    blend: str = "(1-z)n+zh"
    concatenated: bool = False
    columns: bool = False
    aliases: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()
    marked: bool = False
    always_biased: bool = False
    remark: str = ""

    @property
    def freezable(self) -> bool:
        """Whether a frozen layer is written so: under the names that torch gives a GRU, each part in one tensor."""
        return self.order == "rzn" and self.weight_hh in (("weight_hh_l{layer}{direction}",), ("weight_hh",))

    def names(self, part: str, layer: int, direction: int, directions: int) -> list[str]:
        """Give the names of a part (or the forbidden ones) of one layer and direction, without the layer's own name in front."""
        return [self._fill(name, layer, direction, directions) for name in getattr(self, part)]

    def alias_names(self, part: str, layer: int, direction: int, directions: int) -> list[str]:
        """Give the further names of a stacked part."""
        group = self.aliases[1 if directions == 2 else 0] if self.aliases else ()
        direction_names = [self._fill(name, layer, direction, directions) for name in group]
        return [name for name in direction_names if name.endswith("." + part)]

    @property
    def anchor(self) -> str:
        """The name by which a layer is noticed."""
        return self.weight_hh[0]

    def _fill(self, name: str, layer: int, direction: int, directions: int) -> str:
        index = layer * directions + direction
        return name.format(layer=layer, direction=self.directions[direction], index=index, side=("fw", "bw")[direction])


def matches(layout: CheckpointLayout, names: Iterable[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the names that end in the layout's anchor: each with the part before it, and the numbers and direction in it.

    Only the end of a name is looked at, so that the time does not grow with names that are megabytes long.
    """
    search, separators, length = _ending(layout).search, layout.separators, _LONGEST_ENDING
    for name in possible(names, (layout,)):
        match = search(name[-length:])
        if match is None:
            continue
        begin = max(0, len(name) - length) + match.start()
        if not begin or name[begin - 1] in separators:
            yield name, name[:begin], match.groupdict()


def possible(names: Iterable[str], layouts: Iterable[CheckpointLayout]) -> list[str]:
    """Give the names that may end in an anchor of one of the layouts, by their last letters alone."""
    endings = tuple({ending for layout in layouts for ending in _last_letters(layout)})
    return [name for name in names if name.endswith(endings)]


_LONGEST_ENDING = 64
"""No anchor is longer, with its layer's number."""
_DIGITS = tuple("0123456789")


def _last_letters(layout: CheckpointLayout) -> tuple[str, ...]:
    *_, field, text = re.split(r"(\{\w+\})", layout.anchor) if "{" in layout.anchor else ("", layout.anchor)
    if text:
        return (text,)
    return tuple(filter(None, layout.directions)) + _DIGITS if field == "{direction}" else _DIGITS


@cache
def _ending(layout: CheckpointLayout) -> re.Pattern[str]:
    """The pattern of an anchor at the end of a name; groups: layer, direction, index."""
    fields = {
        "{layer}": r"(?P<layer>\d{1,3})",
        "{index}": r"(?P<index>\d{1,3})",
        "{direction}": "(?P<direction>" + "|".join(map(re.escape, dict.fromkeys(layout.directions))) + ")",
    }
    pieces = re.split(r"(\{\w+\})", layout.anchor)
    ending = "".join(fields.get(piece) or re.escape(piece) for piece in pieces)
    return re.compile(f"(?:^|(?<=[{re.escape(layout.separators)}])){ending}\\Z")


def own_name(cell: bool, frozen: bool) -> str:
    """The name of a layer of anygru, such as "anygru.FrozenGRU"."""
    return f"anygru.{'Frozen' if frozen else ''}GRU{'Cell' if cell else ''}"


def join_name(path: str, name: str, separator: str) -> str:
    """Put a layer's own name in front of a tensor's."""
    return f"{path}{separator}{name}" if path else name


def split_prefix(prefix: str) -> str:
    """Take the separator off the end of a prefix."""
    return prefix[:-1] if prefix else ""


def translate_path(path: str, separator: str) -> str:
    """Write a layer's own name with the separator of another framework: a path of Chainer has slashes, others dots."""
    return path.replace(".", "/") if separator == "/" else path.replace("/", ".")
