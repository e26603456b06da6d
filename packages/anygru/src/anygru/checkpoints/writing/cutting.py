"""GRUs that the target cuts differently: cells as the directions of a GRU, layers as GRUs, and back, by entries of a mapping.

An entry leads from a GRU of the file, or a part of it, to a part of a GRU in the target: {"f": "enc:forward", "b":
"enc:reverse"}, {"rnn:l0": "a", "rnn:l1": "b"}. A part is a layer, a direction, or both (":l1:reverse"); ":cell" behind a new
name makes a cell. No tensor is touched: a `FoundGRU` has the place of each of its layers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...errors import CheckpointError
from .. import stack
from ..checkpoint import Checkpoint
from ..finding import FoundGRU
from ..layout import PARTS

_DIRECTIONS = ("forward", "reverse")
_WORD = re.compile(r"l(\d{1,3})|forward|reverse|cell")
_TENSOR = re.compile(r"(?:^|[./])((?:weight|bias)_[ih]h)(?:_l(\d{1,3})(_reverse)?)?\Z")


class _Part(NamedTuple):
    """A name with the part behind it: None for all layers, or both directions."""

    path: str
    layer: int | None = None
    direction: int | None = None
    cell: bool = False

    @property
    def is_whole(self) -> bool:
        return self.layer is None and self.direction is None and not self.cell


class _Piece(NamedTuple):
    """One layer and direction of a GRU in the file."""

    gru: FoundGRU
    layer: int
    direction: int

    @property
    def number(self) -> int:
        return self.layer * self.gru.directions + self.direction

    @property
    def features(self) -> int:
        return self.gru.hidden_size * self.gru.directions if self.layer else self.gru.input_size

    def __str__(self) -> str:
        return self.gru.path if self.gru.cell else _name(self.gru.path, self.layer, self.direction, self.gru.directions)


class _Entry(NamedTuple):
    """Pieces of a GRU with the target's part, and the keys of the mapping's entries for them."""

    pieces: list[_Piece]
    target: _Part
    keys: list[str]


def _name(path: str, layer: int, direction: int, directions: int = 2) -> str:
    return f"{path}:l{layer}" + (f":{_DIRECTIONS[direction]}" if directions == 2 else "")


def recut(checkpoint: Checkpoint, mapping: Mapping[str, str]) -> Checkpoint:
    """Give a checkpoint with the GRUs that a mapping asks for, under their new names.

    Args:
        checkpoint: the file; it is not changed.
        mapping: new names by old ones; `Checkpoint.cut` of the result lists the entries that were used here.

    Raises:
        CheckpointError: a part does not exist, is missing, has no new place, or does not fit another part.
    """
    entries = [*_by_tensors(checkpoint, mapping), *_by_parts(checkpoint, mapping)]
    if not entries:
        return checkpoint
    places: dict[str, dict[tuple[int, int], _Piece]] = {}
    cells = {entry.target.path for entry in entries if entry.target.cell}
    for entry in entries:
        places.setdefault(entry.target.path, {})
        for place, piece in _placed(entry):
            if place in places[entry.target.path]:
                raise _mistake(f"two parts become {_name(entry.target.path, *place)}")
            places[entry.target.path][place] = piece
    moved = [piece for pieces in places.values() for piece in pieces.values()]
    _check_all_moved(moved)
    names = set(places) - cells
    made = [_assemble(path, pieces, path in cells) for path, pieces in places.items()]
    gone = {piece.gru.path for piece in moved}
    kept = [gru for gru in checkpoint.gru_layers if gru.path not in gone]
    if doubled := [gru.path for gru in kept if gru.path in places]:
        raise _mistake(f"the file has another GRU {doubled[0]!r}")
    made = _with_all_names(made, moved)
    metadata = _renamed_layers(checkpoint, {str(piece): path for path in names for piece in places[path].values()})
    keys = [key for entry in entries for key in entry.keys]
    return checkpoint.recut([*kept, *made], keys, metadata)


def _mistake(words: str) -> CheckpointError:
    return CheckpointError(f"mapping: {words}")


def _parsed(name: str) -> _Part:
    layer = direction = None
    cell = False
    while True:
        before, colon, word = name.rpartition(":")
        match = _WORD.fullmatch(word) if colon else None
        if match is None:
            return _Part(name, layer, direction, cell)
        name = before
        if word == "cell":
            cell = True
        elif match[1]:
            layer = int(match[1])
        else:
            direction = _DIRECTIONS.index(word)


def _by_parts(checkpoint: Checkpoint, mapping: Mapping[str, str]) -> Iterator[_Entry]:
    """The entries with a part on either side."""
    grus = {gru.path: gru for gru in checkpoint.gru_layers}
    for old, new in mapping.items():
        source, target = _parsed(old), _parsed(new)
        if source.is_whole and target.is_whole:
            continue
        gru = grus.get(source.path)
        if gru is None:
            if target.is_whole and any(name.startswith(old) for name in checkpoint.stored):
                continue  # a name with a colon
            known = ", ".join(map(repr, grus)) or "none"
            raise _mistake(f"{old!r}: the file has no GRU {source.path!r}; there are: {known}")
        if source.cell:
            raise _mistake(f"{old!r}: `cell` belongs behind the new name")
        pieces = [
            _Piece(gru, layer, direction)
            for layer in range(gru.num_layers)
            for direction in range(gru.directions)
            if source.layer in (None, layer) and source.direction in (None, direction)
        ]
        if not pieces:
            raise _mistake(f"{old!r}: there is no such part in {gru.describe()}")
        yield _Entry(pieces, target, [old])


def _by_tensors(checkpoint: Checkpoint, mapping: Mapping[str, str]) -> Iterator[_Entry]:
    """The parts with an entry for each tensor, if these entries cut a GRU: with torch's names on both sides."""
    found = [entry for gru in checkpoint.gru_layers for entry in _whole_parts(gru, mapping)]
    changed = [entry for entry in found if _is_cut(entry, mapping)]
    sources, targets = {entry.pieces[0].gru.path for entry in changed}, {entry.target.path for entry in changed}
    for entry in found:
        if entry.pieces[0].gru.path in sources or entry.target.path in targets:
            yield entry


def _whole_parts(gru: FoundGRU, mapping: Mapping[str, str]) -> Iterator[_Entry]:
    """The layers and directions that stay together, if the mapping has an entry for each tensor of them."""
    for number, source in enumerate(gru.sources):
        keys = [name for part in source.values() for name in part]
        targets = set()
        for key in keys:
            old, new = _TENSOR.search(key[-64:]), _TENSOR.search(mapping.get(key, "")[-64:])
            if old is None or new is None or old[1] != new[1]:
                break
            targets.add((mapping[key].removesuffix(new[0]), new[2], bool(new[3])))
        else:
            if len(targets) == 1:
                path, layer, reverse = targets.pop()
                place = (None, None, True) if layer is None else (int(layer), int(reverse))
                yield _Entry([_Piece(gru, *divmod(number, gru.directions))], _Part(path, *place), keys)


def _is_cut(entry: _Entry, mapping: Mapping[str, str]) -> bool:
    """Whether tensors get the names of another layer or direction."""
    ends = (_TENSOR.search(name[-64:]) for key in entry.keys[:1] for name in (key, mapping[key]))
    old, new = (end.groups() if end else () for end in ends)
    return old != new


def _placed(entry: _Entry) -> Iterator[tuple[tuple[int, int], _Piece]]:
    """Each piece of an entry with its layer and direction in the target."""
    first, target = entry.pieces[0], entry.target
    for piece in entry.pieces:
        if target.direction is not None and piece.direction != first.direction:
            raise _mistake(f"{piece.gru.path!r} has two directions, and {entry.keys[0]!r} leads to one")
        layer = (target.layer or 0) + piece.layer - first.layer
        direction = piece.direction - first.direction if target.direction is None else target.direction
        yield (layer, direction), piece


def _check_all_moved(moved: list[_Piece]) -> None:
    for gru in {piece.gru.path: piece.gru for piece in moved}.values():
        there = [piece.number for piece in moved if piece.gru is gru]
        for number in range(gru.num_layers * gru.directions):
            piece = _Piece(gru, *divmod(number, gru.directions))
            if there.count(number) != 1:
                words = "two new places" if there.count(number) else "no new place"
                raise _mistake(f"{str(piece)!r} has {words}")


def _assemble(path: str, pieces: Mapping[tuple[int, int], _Piece], cell: bool) -> FoundGRU:
    """The GRU of some pieces, if they fit."""
    layers, directions = (max(place[axis] for place in pieces) + 1 for axis in (0, 1))
    for layer in range(layers):
        for direction in range(directions):
            if (layer, direction) not in pieces:
                raise _mistake(f"{_name(path, layer, direction, directions)!r} is missing")
    if cell and (layers, directions) != (1, 1):
        raise _mistake(f"{path!r}: a cell has one layer and one direction")
    row = [pieces[layer, direction] for layer in range(layers) for direction in range(directions)]
    gru = row[0].gru
    for number, piece in enumerate(row):
        _check_fits(path, piece, row[0], number // directions, directions)
    forward = [piece for piece in row if piece.gru.reverse] if directions == 1 else row[::2]
    backwards = directions == 1 and len(forward) == len(row)
    if not backwards and any(piece.gru.reverse for piece in forward):
        raise _mistake(f"{path!r}: {str(forward[0])!r} reads backwards in the file")
    return replace(
        gru,
        path=path,
        layout=replace(gru.layout, cell=cell, name=f"parts of {gru.layout.name}"),
        input_size=row[0].features,
        num_layers=layers,
        bidirectional=directions == 2,
        parameters=sum(_parameters(piece) for piece in row),
        sources=tuple(piece.gru.sources[piece.number] for piece in row),
        names=(),
        notes=tuple(_notes(path, row, directions)),
        reverse=backwards and not cell,
        origins=tuple((piece.gru, piece.number) for piece in row),
    )


def _parameters(piece: _Piece) -> int:
    """The parameters of a layer and direction, with both biases if there are some."""
    hidden = piece.gru.hidden_size
    return 3 * hidden * (piece.features + hidden + (2 if piece.gru.bias else 0))


_ALIKE = ("hidden_size", "dtype", "bias", "reset", "gate_activation", "activation", "zoneout")


def _check_fits(path: str, piece: _Piece, first: _Piece, layer: int, directions: int) -> None:
    gru, wanted = piece.gru, first.features if layer == 0 else first.gru.hidden_size * directions
    if gru.problem or gru.frozen:
        raise _mistake(
            f"{gru.path!r}: {gru.problem or 'its weights are frozen: write them as float32 first (--weights float32)'}"
        )
    for attribute in _ALIKE:
        ours, others = getattr(gru, attribute), getattr(first.gru, attribute)
        if ours != others:
            raise _mistake(f"{path!r}: {attribute} of {str(piece)!r} is {ours!r}, and of {str(first)!r} {others!r}")
    if piece.features != wanted:
        raise _mistake(f"{_name(path, layer, 0, 1)!r} takes {wanted} inputs, and {str(piece)!r} {piece.features}")
    form, other = (
        (one.layout.order, one.layout.columns, one.layout.concatenated, one.layout.blend) for one in (gru, first.gru)
    )
    if form != other or set(gru.sources[piece.number]) != set(first.gru.sources[first.number]):
        raise _mistake(
            f"{path!r}: {str(piece)!r} and {str(first)!r} are written in different ways ({', '.join(PARTS)})"
        )


def _notes(path: str, row: list[_Piece], directions: int) -> Iterator[str]:
    for number, piece in enumerate(row):
        second = number % directions == 1
        if piece.direction == 1 and not second:
            yield f"{path}: it was a reverse direction, and reads forward now: give it the flipped sequence"
        if second and piece.direction == 0 and not piece.gru.reverse and not piece.gru.cell:
            yield f"{path}: {piece} read forward in the file, and reads backwards now"


def _with_all_names(made: list[FoundGRU], moved: list[_Piece]) -> list[FoundGRU]:
    """The GRUs with the names of their tensors; further names of a GRU go to the first that has a part of it."""
    taken: set[str] = set()
    found = []
    for gru in made:
        own = [name for source in gru.sources for part in source.values() for name in part]
        sources = {piece.gru.path: piece.gru for piece in moved}
        elsewhere = {
            name for one in sources.values() for source in one.sources for part in source.values() for name in part
        }
        further = [
            name for origin, _ in gru.origins for name in origin.names if name not in elsewhere and name not in taken
        ]
        taken.update(further)
        found.append(replace(gru, names=tuple(dict.fromkeys([*own, *further]))))
    return found


def _renamed_layers(checkpoint: Checkpoint, names: Mapping[str, str]) -> dict[str, str]:
    """The metadata with the new names of the layers of GRUs."""
    model = stack.model_of(checkpoint.content.metadata, checkpoint.path)
    if model is None:
        return checkpoint.content.metadata
    seen: dict[str, int] = {}
    for layer in model["layers"]:
        old = layer["name"]
        layer["name"] = names.get(f"{old}:l{seen.get(old, 0)}", old)
        seen[old] = seen.get(old, 0) + 1
    return {**checkpoint.content.metadata, stack.KEY: stack.as_text(model, checkpoint.path)}
