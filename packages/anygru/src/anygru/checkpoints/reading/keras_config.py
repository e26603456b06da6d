"""The options of the GRUs in a configuration of Keras, by their paths in the file.

Nothing of a configuration is ever built. Every option is in one of four groups: it changes nothing that a layer computes
after training, it is computed, it is noted, or it is refused by its name. A class or an option that is in none of them, such
as a layer that a program registered, is refused as well: its tensors may look like a GRU's and mean another model.
Classes and options: Keras 3.15's `get_config` of `GRU`, `GRUCell`, `RNN`, `Bidirectional`, and tf.keras 2.15's.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...errors import CheckpointError
from .budget import Budget
from .content import EntryMark
from .json_text import parse_json
from .source import Bytes, shown

_WITHOUT_EFFECT = {
    *("name", "trainable", "units", "use_bias", "seed", "unroll", "implementation", "return_sequences", "return_state"),
    *("zero_output_for_mask", "time_major", "input_shape", "batch_input_shape", "batch_shape", "input_spec", "cell"),
    *(f"{part}_{kind}" for part in ("kernel", "recurrent", "bias") for kind in ("initializer", "regularizer", "constraint")),
    *("activity_regularizer", "dropout", "recurrent_dropout", "layer", "backward_layer", "autocast", "input_dim"),
}  # fmt: skip
"""Options that training alone uses, that tell how a caller wants the results, or that the tensors tell as well."""
_READ = {"activation", "recurrent_activation", "reset_after", "go_backwards", "dtype", "stateful", "merge_mode"}

_ACTIVATIONS = {
    name: name for name in ("sigmoid", "tanh", "relu", "softsign", "softplus", "elu", "silu", "gelu", "linear")
}
_ACTIVATIONS |= {"linear": "identity", "swish": "silu", "hard_sigmoid": "hardsigmoid", "hard_tanh": "hardtanh"}
"""Keras 3's activations by the names in `anygru.facts.formula`; each computes the same function."""

_DEEPEST = 64


def parse_config(text: Bytes, place: str, budget: Budget) -> Any:
    """Parse the JSON of a configuration.

    Raises:
        CheckpointError: it is none.
    """
    try:
        return parse_json(text, budget)
    except CheckpointError:
        raise
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{place}: no proper JSON: {error}") from error


def marks_by_path(config: object, version: str) -> dict[str, EntryMark]:
    """Give the marks of GRUs by the groups in `model.weights.h5`, which Keras calls after the classes of layers, with numbers.

    Args:
        config: the parsed configuration of a model.
        version: of Keras, which wrote it.
    """
    return dict(_below(_dict(config), "", version, 0))


def marks_by_name(config: object, version: str) -> dict[str, EntryMark]:
    """Give the marks of GRUs by the names of layers, which the older HDF5 files of whole models have as groups.

    Two layers of one name with unlike options are refused, since the file does not tell which one a group belongs to.
    """
    marks: dict[str, EntryMark] = {}
    for name, mark in _named(config, version, 0):
        marks[name] = (
            mark if marks.get(name, mark) == mark else EntryMark(problem=f"two layers are called {shown(name)}")
        )
    return marks


def _below(model: Mapping[str, Any], path: str, version: str, depth: int) -> Iterator[tuple[str, EntryMark]]:
    """The marks of the layers of a model, and of the models in it."""
    counts: Counter[str] = Counter()
    for layer in _list(_dict(model.get("config")), "layers") if depth < _DEEPEST else ():
        base = _snake(str(layer.get("class_name")))
        group = f"{path}layers/{base}_{counts[base]}" if counts[base] else f"{path}layers/{base}"
        counts[base] += 1
        yield from _layer(layer, group, version, depth + 1)


def _layer(layer: Mapping[str, Any], path: str, version: str, depth: int) -> Iterator[tuple[str, EntryMark]]:
    options = _dict(layer.get("config"))
    if depth >= _DEEPEST:
        return
    if _is_gru(layer):
        yield path, _mark(layer, version)
    elif layer.get("class_name") == "Bidirectional":
        yield path, _both(layer, version)
    elif layer.get("class_name") == "RNN" and _dict(options.get("cell")).get("class_name") == "StackedRNNCells":
        cells: Counter[str] = Counter()
        for cell in _list(_dict(_dict(options["cell"]).get("config")), "cells"):
            base = _snake(str(cell.get("class_name")))
            group = f"{path}/cell/cells/{base}_{cells[base]}" if cells[base] else f"{path}/cell/cells/{base}"
            cells[base] += 1
            yield group, _mark(layer, version, cell)
    elif layer.get("class_name") == "RNN":
        yield path, _mark(layer, version, _dict(options.get("cell")))
    elif isinstance(options.get("layers"), list):
        yield from _below(layer, f"{path}/", version, depth)
    elif isinstance(options.get("layer"), dict):
        yield from _layer(_dict(options["layer"]), f"{path}/layer", version, depth + 1)
    else:
        yield path, EntryMark(problem=_other_class(layer))


def _named(config: object, version: str, depth: int) -> Iterator[tuple[str, EntryMark]]:
    """The marks of all GRUs anywhere in a configuration, with the layers' names."""
    if depth >= _DEEPEST:
        return
    if isinstance(config, list):
        for part in config:
            yield from _named(part, version, depth + 1)
        return
    layer, options = _dict(config), _dict(_dict(config).get("config"))
    name = str(options.get("name"))
    if _is_gru(layer):
        yield name, _mark(layer, version)
    elif layer.get("class_name") == "Bidirectional":
        yield from _named_directions(layer, version)
    elif layer.get("class_name") == "RNN":
        outer = _dict(options.get("cell"))
        cells = _list(_dict(outer.get("config")), "cells") if outer.get("class_name") == "StackedRNNCells" else []
        for cell in cells or [outer]:
            yield str(_dict(cell.get("config")).get("name")) if cells else name, _mark(layer, version, cell)
    elif (
        "class_name" in layer
        and not isinstance(options.get("layers"), list)
        and not isinstance(options.get("layer"), dict)
    ):
        yield name, EntryMark(problem=_other_class(layer))
        for part in options.values():
            yield from _named(part, version, depth + 1)
    else:
        for part in layer.values():
            yield from _named(part, version, depth + 1)


def _named_directions(layer: Mapping[str, Any], version: str) -> Iterator[tuple[str, EntryMark]]:
    """Both directions of a wrapper, which are groups of their own, so that it does not matter how the wrapper joins them.

    Before Keras 2.4 the second one is no entry of its own, but a copy of the first that reads the other way.
    """
    options = _dict(layer.get("config"))
    forward, backward = _dict(options.get("layer")), _dict(options.get("backward_layer"))
    first = _mark(forward, version, _cell_of(forward))
    name = str(_dict(forward.get("config")).get("name"))
    yield name, first
    yield f"forward_{name}", first
    if backward:
        second = _mark(backward, version, _cell_of(backward))
        yield str(_dict(backward.get("config")).get("name")), replace(second, notes=())
    else:
        yield f"backward_{name.removeprefix('forward_')}", replace(first, reverse=not first.reverse, notes=())


def _both(layer: Mapping[str, Any], version: str) -> EntryMark:
    """The mark of a `Bidirectional`, whose two layers compute alike and read in opposite orders."""
    options = _dict(layer.get("config"))
    forward, backward = _dict(options.get("layer")), _dict(options.get("backward_layer"))
    first = _mark(forward, version, _cell_of(forward))
    second = _mark(backward, version, _cell_of(backward)) if backward else EntryMark(first.formula, not first.reverse)
    problem = first.problem or second.problem or _unknown_options(options)
    if not problem and options.get("merge_mode", "concat") not in ("concat", None):
        problem = f"merge_mode={shown(options['merge_mode'])}: a GRU of anygru puts both directions side by side"
    if not problem and first.reverse:
        problem = "go_backwards=True in the forward layer"
    if not problem and (first.formula != second.formula or not second.reverse):
        problem = "its backward_layer has other options than its layer"
    notes = tuple(note for note in first.notes if "last step" not in note)
    return EntryMark(first.formula, problem=problem, notes=notes)


def _cell_of(layer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return _dict(_dict(layer.get("config")).get("cell")) if layer.get("class_name") == "RNN" else None


def _mark(layer: Mapping[str, Any], version: str, cell: Mapping[str, Any] | None = None) -> EntryMark:
    """The mark of a GRU, of a cell, or of an RNN around a cell."""
    options = {**_dict(layer.get("config")), **_dict((cell or {}).get("config"))}
    if not _is_gru(cell if cell is not None else layer):
        return EntryMark(problem=_other_class(cell if cell is not None else layer))
    if problem := _unknown_options(options):
        return EntryMark(problem=problem)
    formula = {}
    if "reset_after" in options:  # where it is missing, in files before Keras 2.1.3, the bias tells
        formula["reset"] = "after" if options["reset_after"] else "before"
    for ours, theirs, usual in (
        ("gate_activation", "recurrent_activation", "sigmoid"),
        ("activation", "activation", "tanh"),
    ):
        given = options.get(theirs, usual)
        known = _activation(given, version)
        if known is None:
            return EntryMark(problem=f"{theirs}={_written(given)}{_hint(given, version)} is not known to anygru")
        formula[ours] = known
    notes = []
    reverse = bool(options.get("go_backwards", False))
    if reverse:
        notes.append(
            "go_backwards: Keras gives its outputs from the last step to the first, this layer in the input's order"
        )
    if options.get("stateful"):
        notes.append("stateful: Keras keeps the state between batches; pass h_n on as h_0")
    if "16" in str(_policy(options.get("dtype"))):
        notes.append(f"Keras computes in {_policy(options.get('dtype'))}, this layer in the dtype of its tensors")
    return EntryMark(formula, reverse, notes=tuple(notes))


def _other_class(layer: Mapping[str, Any]) -> str:
    return f"its class {shown(layer.get('registered_name') or layer.get('class_name'))} may compute anything with such tensors"


def _unknown_options(options: Mapping[str, Any]) -> str:
    unknown = [name for name in options if name not in _WITHOUT_EFFECT and name not in _READ]
    return f"its option {shown(unknown[0])} is not known to anygru" if unknown else ""


def _activation(given: object, version: str) -> str | None:
    """Our name of an activation; None for one that is not known."""
    if isinstance(given, dict) and given.get("registered_name") in (None, given.get("config"), "function"):
        # {"module": "keras.activations", "class_name": "function", "config": "gelu"}: a function of Keras by its name
        given = given.get("config") if given.get("module") in ("keras.activations", "keras.src.activations") else given
    if given is None:
        return "identity"
    if not isinstance(given, str) or _hint(given, version):
        return None
    return _ACTIVATIONS.get(given)


def _hint(given: object, version: str) -> str:
    """Keras 2's functions of the same name that compute something else."""
    return (
        " of Keras 2, 0.2 x + 0.5 between 0 and 1," if given == "hard_sigmoid" and not version.startswith("3") else ""
    )


def _written(given: object) -> str:
    if isinstance(given, dict):
        inner = _dict(given.get("config"))
        words = given.get("registered_name"), inner.get("name"), given.get("config"), given.get("class_name")
        return shown(next((word for word in words if isinstance(word, str) and word != "function"), None))
    return shown(given)


def _policy(dtype: object) -> object:
    return _dict(_dict(dtype).get("config")).get("name") if isinstance(dtype, dict) else dtype


def _is_gru(layer: Mapping[str, Any]) -> bool:
    """Whether it is Keras's own class: Keras 2 names no module in HDF5 files, and "keras.layers" or "builtins" elsewhere."""
    module = str(layer.get("module") or "keras")
    own = module.partition(".")[0] in ("keras", "tf_keras", "tensorflow") and not layer.get("registered_name")
    return own and layer.get("class_name") in ("GRU", "GRUCell")


def _snake(name: str) -> str:
    """The name of a group for a class, as Keras makes it."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))).lower()


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [_dict(each) for each in found] if isinstance(found, list) else []
