"""Keras: `.keras` archives, and the names of GRUs in `.weights.h5` files and whole-model HDF5 files.

A `.keras` file is a zip archive of `config.json`, `metadata.json` and `model.weights.h5`, which lists the variables of each layer
by number: `layers/gru/cell/vars/0` is the kernel, 1 the recurrent kernel, 2 the bias. Files of Keras 2, and files of Keras 3
with the ending `.h5`, name them `kernel`, `recurrent_kernel` and `bias`, with `:0` appended where TensorFlow wrote
them. Read in files of Keras 3.15 and in its sources; https://keras.io/guides/serialization_and_saving. Nothing of a
configuration is ever built: a `Lambda` layer or a registered object in it stays text.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

from ...errors import CheckpointError
from ..layout import CheckpointLayout
from ..reading.archive import Archive
from ..reading.budget import Budget
from ..reading.content import Content, Progress
from ..reading.keras_config import marks_by_path, parse_config
from ..stored import StoredTensor
from . import READ_ONLY, hdf5

NESTED = False
SUFFIXES = (".keras",)

WEIGHTS, _CONFIG, _METADATA = "model.weights.h5", "config.json", "metadata.json"
_NAMED = ("kernel", "recurrent_kernel", "bias")


def _layouts() -> Iterator[CheckpointLayout]:
    """All layouts of GRUs in Keras, each with both formulas: the shape of the bias distinguishes them."""
    kinds = (
        ("keras.layers.Bidirectional(GRU)", False, [f"{{direction}}/cell/vars/{number}" for number in range(3)]),
        ("keras.layers.GRU", False, [f"cell/vars/{number}" for number in range(3)]),
        ("keras.layers.GRUCell", True, [f"vars/{number}" for number in range(3)]),
        ("keras.layers.GRU", False, list(_NAMED)),
        ("keras.layers.GRU", False, [f"{name}:0" for name in _NAMED]),
    )
    for name, cell, (kernel, recurrent, bias) in kinds:
        both = "{direction}" in kernel
        layout = CheckpointLayout(
            name=name,
            cell=cell,
            weight_ih=(kernel,),
            weight_hh=(recurrent,),
            bias_ih=(bias,),
            directions=("forward_layer", "backward_layer") if both else ("", ""),
            sides=(2,) if both else (1,),
            separators="/",
            order="zrn",
            columns=True,
            remark="no configuration tells its activations and direction: read as sigmoid, tanh, from the first step on",
        )
        yield layout
        yield replace(layout, reset="before")


LAYOUT = tuple(_layouts())


def recognise(head: bytes) -> bool:
    """Return whether a file with these first bytes is a `.keras` archive, by the name of its first member."""
    return head[:4] == b"PK\x03\x04" and head[30:].startswith((b"metadata.json", b"config.json", b"model.weights.h5"))


def read(path: str | os.PathLike[str], budget: Budget) -> Content:
    """Read the weights by their paths in `model.weights.h5`, and the formulas of the configuration.

    Raises:
        CheckpointError: the archive or a member is damaged, or lacks the weights.
    """
    where = os.fspath(path)
    with Archive(path, budget) as archive:
        for member in (WEIGHTS, _CONFIG):
            if member not in archive:
                raise CheckpointError(f"{where}: no member {member}, which a .keras archive has")
        data, text = archive.read(WEIGHTS), archive.read(_CONFIG)
        metadata = archive.read(_METADATA) if _METADATA in archive else b"{}"
    reader, _ = hdf5.read_file(f"{where}: {WEIGHTS}", budget, memoryview(data))
    tree = {name: StoredTensor.of(array) for name, array in reader.arrays.items() if array.dtype.kind in "biufc"}
    version = parse_config(metadata, f"{where}: {_METADATA}", budget)
    written_by = str(version.get("keras_version", "")) if isinstance(version, dict) else ""
    marks = marks_by_path(parse_config(text, f"{where}: {_CONFIG}", budget), written_by, budget)
    return Content(tree, marks=marks, places=reader.places)


def write(path: str | os.PathLike[str], content: Content, progress: Progress | None = None) -> None:
    """Refuse; see `formats.READ_ONLY`."""
    raise CheckpointError(f"{os.fspath(path)}: {READ_ONLY['keras']}")


def problem(leaf: object) -> str | None:
    """Return the reason why this format cannot be written."""
    return READ_ONLY["keras"]
