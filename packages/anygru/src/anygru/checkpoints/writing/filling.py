"""Write weights into a copy of a Keras file with the same model, optimizer and names."""

import io
import os
import zipfile
from collections.abc import Mapping

import numpy as np

from ...errors import CheckpointError
from ..checkpoint import Checkpoint
from ..conversion import Choices, Conversion
from ..finding import FoundGRU
from ..formats import hdf5, keras
from ..gate import Gate
from ..reading.archive import Archive
from ..translation import core_weights, framework_tensors


def fill(
    checkpoint: Checkpoint, like: str | os.PathLike[str], target: str | os.PathLike[str], choices: Choices
) -> Conversion:
    """Write a copy of a Keras file with the GRUs of a checkpoint instead of the file's GRUs.

    A GRU goes to the place that `mapping` names, otherwise to the GRU of the same name; if no name fits and both files have the
    same number of GRUs, to the GRU at the same position. A tensor outside of GRUs is written where the file has one of its
    name and shape.

    Args:
        checkpoint: the weights.
        like: a `.keras`, `.weights.h5` or whole-model HDF5 file.
        target: the file to write.
        choices: the mapping maps names of GRUs in the checkpoint to names in `like`.

    Raises:
        CheckpointError: `like` is no such file, a GRU has no partner, or a partner has another size or formula.
    """
    gate = Gate(like, sandbox=choices.sandbox)
    pattern = Checkpoint.behind(gate)
    if pattern.format not in ("keras", "hdf5"):
        raise CheckpointError(
            f"{os.fspath(like)}: --like takes a .keras, .weights.h5 or .h5 file of Keras, got {pattern.format}"
        )
    report = Conversion(checkpoint.format, pattern.format)
    arrays: dict[str, np.ndarray] = {}
    for gru, place in _pairs(checkpoint, pattern, checkpoint.renames(choices.mapping)):
        _check_fit(gru, place, os.fspath(like))
        if unlike := _unlike_formula(gru, place):
            if not choices.approximate:
                raise CheckpointError(
                    f"{os.fspath(like)}: {place.path}: {unlike}; with approximations allowed the weights alone are written"
                )
            report.approximated.append(f"{place.path}: the weights alone are written: {unlike}")
        written = framework_tensors(core_weights(gru, checkpoint.stored), gru, place.layout, place.path)
        arrays |= {name: tensor.values for name, tensor in written.items() if name in place.names}
        report.converted.append((gru, place.path, place.layout))
    taken = {name for gru in checkpoint.gru_layers for name in gru.names}
    for name, tensor in checkpoint.stored.items():
        there = pattern.stored.get(name)
        if name not in taken and there is not None and (there.shape, there.dtype) == (tensor.shape, tensor.dtype):
            arrays[name] = tensor.values
            report.kept.append(name)
        elif name not in taken:
            report.left_out[name] = "the file has no tensor of this name, shape and dtype"
    _write(pattern, gate, os.fspath(target), arrays)
    return report


def _pairs(source: Checkpoint, pattern: Checkpoint, mapping: Mapping[str, str]) -> list[tuple[FoundGRU, FoundGRU]]:
    """Each GRU of the source with its partner in the file."""
    places = {gru.path: gru for gru in pattern.gru_layers}
    named = {gru.path: mapping.get(gru.path, gru.path) for gru in source.gru_layers}
    if not mapping and not set(named.values()) <= set(places) and len(named) == len(places):
        named = dict(zip(named, places, strict=True))
    missing = [f"{old!r} (wanted as {new!r})" for old, new in named.items() if new not in places]
    if missing or not named:
        known = ", ".join(map(repr, places)) or "no GRU"
        raise CheckpointError(
            f"{pattern.path}: no partner for {', '.join(missing) or 'any GRU'}; it has {known} (--map)"
        )
    return [(source.find(old), places[new]) for old, new in named.items()]


def _check_fit(gru: FoundGRU, place: FoundGRU, where: str) -> None:
    for attribute in ("input_size", "hidden_size", "num_layers", "bidirectional", "reset", "bias", "dtype"):
        ours, theirs = getattr(gru, attribute), getattr(place, attribute)
        if ours != theirs:
            raise CheckpointError(f"{where}: {place.path}: {attribute} is {theirs!r}, that of {gru.path!r} is {ours!r}")


def _unlike_formula(gru: FoundGRU, place: FoundGRU) -> str:
    """Why the file's layer would give other results than the source's; empty if it does not."""
    for attribute in ("gate_activation", "activation", "reverse", "zoneout"):
        ours, theirs = getattr(gru, attribute), getattr(place, attribute)
        if ours != theirs:
            return f"{attribute} is {theirs!r}, that of {gru.path!r} is {ours!r}"
    return gru.problem or place.problem


def _write(pattern: Checkpoint, gate: Gate, target: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a copy of the file with other values; no library parses it here."""
    places = pattern.content.places
    if pattern.format == "hdf5":
        with open(target, "w+b") as new:
            new.write(gate.bytes())
            hdf5.replace_values(new, arrays, places, new.tell())
        return
    with Archive(gate.path, gate.budget()) as old_archive, zipfile.ZipFile(target, "w") as written:
        for name in old_archive.names:
            data = old_archive.read(name)
            if name == keras.WEIGHTS:
                file = io.BytesIO(data)
                hdf5.replace_values(file, arrays, places, len(data))
                data = bytearray(file.getbuffer())
            written.writestr(name, data)
