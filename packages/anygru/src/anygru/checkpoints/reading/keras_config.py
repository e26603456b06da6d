"""The options of the GRUs in a configuration of Keras, by their paths in the file.

Nothing of a configuration is ever built. Every option is in one of four groups: no effect after training, computed,
noted, or refused by its name. An unknown class or option, such as a layer that a
program registered, is also refused: its tensors may look like a GRU's and mean another model.
Classes and options: Keras 3.15's `get_config` of `GRU`, `GRUCell`, `RNN`, `Bidirectional`, and tf.keras 2.15's.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

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
"""Options for training only, for the form of the results, or implied by the tensors."""
_READ = {"activation", "recurrent_activation", "reset_after", "go_backwards", "dtype", "stateful", "merge_mode"}

_ACTIVATIONS = {
    name: name for name in ("sigmoid", "tanh", "relu", "softsign", "softplus", "elu", "silu", "gelu", "linear")
}
_ACTIVATIONS |= {"linear": "identity", "swish": "silu", "hard_sigmoid": "hardsigmoid", "hard_tanh": "hardtanh"}
"""Keras 3's activations by the names in `anygru.facts.formula`; each computes the same function."""

_Place: TypeAlias = tuple[str | None, str | None, EntryMark]
"""The group of a layer in `model.weights.h5` and its name, None where the file of that kind has no such group; and its mark."""

_DEEPEST = 64
_PER_MARK = 512
"""Bytes of a mark, without the text of its path."""

_FROM = "its options come from the configuration of"
_UNKNOWN = "the configuration has no layer at this place: only the program that wrote the file has its options"


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


def marks_by_path(config: object, version: str, budget: Budget) -> dict[str, EntryMark]:
    """Give the marks of GRUs by the groups in `model.weights.h5`, which Keras calls after the classes of layers, with numbers.

    A group without a mark, below the model's mark only, has unknown options.

    Args:
        config: the parsed configuration of a model.
        version: of Keras, which wrote it.
        budget: counts the paths, which repeat the names above them.

    Raises:
        CheckpointError: the budget is spent.
    """
    model = _dict(config)
    marks = {"": EntryMark(problem=_UNKNOWN if _layers_of(model) else _other_class(model), covers=True)}
    for path, _, mark in _listed(_layers_of(model), "layers", version, 0):
        if path is not None:
            budget.take(_PER_MARK + sys.getsizeof(path))
            marks[path] = replace(mark, covers=bool(mark.problem))
    return marks


def marks_by_name(config: object, version: str, budget: Budget) -> dict[str, dict[str, EntryMark]]:
    """Give the marks of GRUs by the names of layers, which the older HDF5 files of whole models have as groups.

    Two layers of one name with unlike options are refused, since the file does not map groups to layers.

    Args:
        config, version, budget: as of `marks_by_path`.

    Returns:
        The marks of the layers in each layer of the model, by name; "" for the model itself.
    """
    model = _dict(config)
    found = {"": {"": EntryMark(problem=_UNKNOWN if _layers_of(model) else _other_class(model))}}
    for layer in _layers_of(model):
        marks = found.setdefault(_name(layer), {})
        for _, name, mark in _layer(layer, None, version, 1):
            if name is None:
                continue
            budget.take(_PER_MARK + sys.getsizeof(name))
            same = marks.get(name, mark) == mark
            marks[name] = mark if same else EntryMark(problem=f"two layers are called {shown(name)}")
    return found


def _listed(layers: list[dict[str, Any]], path: str | None, version: str, depth: int) -> Iterator[_Place]:
    """The places in a list of layers."""
    for layer, group in _numbered(layers, path) if depth < _DEEPEST else ():
        yield from _layer(layer, group, version, depth + 1)


def _numbered(layers: list[dict[str, Any]], path: str | None) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Layers with the paths of their groups, which are called after their classes and numbered."""
    counts: Counter[str] = Counter()
    for layer in layers:
        base = _snake(str(layer.get("class_name")))
        yield layer, _under(path, f"{base}_{counts[base]}" if counts[base] else base)
        counts[base] += 1


def _layer(layer: Mapping[str, Any], path: str | None, version: str, depth: int) -> Iterator[_Place]:
    """The places in a layer with its group at a path, None if there is no such group."""
    options = _dict(layer.get("config"))
    cell = _dict(options.get("cell"))
    if depth >= _DEEPEST:
        return
    if _is_gru(layer):
        yield path, _name(layer), _mark(layer, version)
    elif _is(layer, "Bidirectional"):
        yield from _directions(layer, path, version, depth)
    elif _is(layer, "RNN") and _is(cell, "StackedRNNCells"):
        yield from _cells(layer, cell, _under(path, "cell"), version, depth)
    elif _is(layer, "RNN"):
        yield path, _name(layer), _mark(layer, version, cell)
    elif layers := _layers_of(layer):
        yield from _listed(layers, _under(path, "layers"), version, depth)
        for key, part in options.items():
            rest = [each for each in part if not _is_layer(each)] if key == "layers" else part
            yield from _parts(rest, None, version, depth)
    elif _is(layer, "TimeDistributed"):
        yield from _layer(_dict(options.get("layer")), _under(path, "layer"), version, depth + 1)
    else:
        yield path, _name(layer), EntryMark(problem=_other_class(layer))
        for key, part in options.items():
            yield from _marks_from(layer, _parts(part, _under(path, key), version, depth))


def _parts(part: object, path: str | None, version: str, depth: int) -> Iterator[_Place]:
    """The places in an option of a class that may hold layers anywhere; a layer deeper in it has no group."""
    if depth >= _DEEPEST:
        return
    if _is_layer(part):
        yield from _layer(_dict(part), path, version, depth + 1)
    elif isinstance(part, list):
        yield from _listed([each for each in part if _is_layer(each)], path, version, depth)
        for each in part:
            yield from _parts(each, None, version, depth + 1) if not _is_layer(each) else ()
    else:
        for each in _dict(part).values():
            yield from _parts(each, None, version, depth + 1)


def _directions(layer: Mapping[str, Any], path: str | None, version: str, depth: int) -> Iterator[_Place]:
    """A `Bidirectional`: one group by path, except that stacks of cells keep their directions apart, and one for each by name.

    By name it does not matter how the wrapper joins them. Before Keras 2.4 the second layer has no separate entry: it is a copy
    of the first that reads the other way.
    """
    options = _dict(layer.get("config"))
    forward, given = _dict(options.get("layer")), _dict(options.get("backward_layer"))
    apart = _is(forward, "RNN") and _is(_dict(_dict(forward.get("config")).get("cell")), "StackedRNNCells")
    if not apart:
        yield path, None, _both(layer, version)
        path = None
    if not (_is_gru(forward) or _is(forward, "RNN")):
        yield None, _name(layer), EntryMark(problem=_other_class(forward))
        return
    for inner, name, mark in _layer(forward, _under(path, "forward_layer"), version, depth + 1):
        yield inner, name, mark
        yield None, f"forward_{name}", mark
        if not given:
            yield (
                None,
                f"backward_{str(name).removeprefix('forward_')}",
                replace(mark, reverse=not mark.reverse, notes=()),
            )
    for inner, name, mark in _layer(given or forward, _under(path, "backward_layer"), version, depth + 1):
        yield inner, None, mark
        if given:
            yield None, name, replace(mark, notes=())


def _cells(
    loop: Mapping[str, Any], stack: Mapping[str, Any], path: str | None, version: str, depth: int
) -> Iterator[_Place]:
    """Stacked cells, which may be stacks themselves."""
    cells = _list(_dict(stack.get("config")), "cells") if depth < _DEEPEST else []
    for cell, group in _numbered(cells, _under(path, "cells")):
        if _is(cell, "StackedRNNCells"):
            yield from _cells(loop, cell, group, version, depth + 1)
        else:
            yield group, _name(cell), _mark(loop, version, cell)


def _marks_from(layer: Mapping[str, Any], places: Iterator[_Place]) -> Iterator[_Place]:
    """The places in the configuration of a class that is not Keras's; the innermost such class is named."""
    for path, name, mark in places:
        is_named = any(note.startswith(_FROM) for note in mark.notes)
        yield path, name, mark if is_named else replace(mark, notes=(*mark.notes, f"{_FROM} {_class(layer)}"))


def _both(layer: Mapping[str, Any], version: str) -> EntryMark:
    """The mark of a `Bidirectional`: its two layers compute alike and read in opposite orders."""
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
    if "reset_after" in options:  # files before Keras 2.1.3 lack it; the bias determines it
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


def _class(layer: Mapping[str, Any]) -> str:
    return f"the class {shown(layer.get('registered_name') or layer.get('class_name'))}"


def _other_class(layer: Mapping[str, Any]) -> str:
    return f"it belongs to {_class(layer)}, which may compute anything with such tensors"


def _unknown_options(options: Mapping[str, Any]) -> str:
    unknown = [name for name in options if name not in _WITHOUT_EFFECT and name not in _READ]
    return f"its option {shown(unknown[0])} is not known to anygru" if unknown else ""


def _activation(given: object, version: str) -> str | None:
    """Our name of an activation; None if unknown."""
    if isinstance(given, dict) and given.get("registered_name") in (None, given.get("config"), "function"):
        # {"module": "keras.activations", "class_name": "function", "config": "gelu"}: a function of Keras by its name
        given = given.get("config") if given.get("module") in ("keras.activations", "keras.src.activations") else given
    if given is None:
        return "identity"
    if not isinstance(given, str) or _hint(given, version):
        return None
    return _ACTIVATIONS.get(given)


def _hint(given: object, version: str) -> str:
    """Keras 2's functions of the same name with other results."""
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
    return _is(layer, "GRU") or _is(layer, "GRUCell")


def _is(layer: Mapping[str, Any], name: str) -> bool:
    """Whether it is the class of Keras that has this name, and not a program's."""
    module = str(layer.get("module") or "keras").partition(".")[0]
    own = module in ("keras", "tf_keras", "tensorflow") and not layer.get("registered_name")
    return own and layer.get("class_name") == name


def _is_layer(value: object) -> bool:
    """Whether it is the configuration of an object, and not one of its options."""
    return isinstance(value, dict) and "class_name" in value and isinstance(value.get("config"), dict)


def _layers_of(model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The layers of a model; before Keras 2.2.3 the configuration of a Sequential is only this list."""
    inner = model.get("config")
    return [_dict(each) for each in inner] if isinstance(inner, list) else _list(_dict(inner), "layers")


def _name(layer: Mapping[str, Any]) -> str:
    return str(_dict(layer.get("config")).get("name"))


def _under(path: str | None, name: str) -> str | None:
    return None if path is None else f"{path}/{name}"


def _snake(name: str) -> str:
    """The name of a group for a class, as Keras makes it."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))).lower()


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [_dict(each) for each in found] if isinstance(found, list) else []
