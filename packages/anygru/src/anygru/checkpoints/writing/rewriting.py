"""Writing a checkpoint in another format: GRUs in the target's form, other values unchanged."""

import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import CheckpointError, near
from ...facts.entries import FORMULA_ENTRY, HALF_ENTRY, SCALE
from .. import stack
from ..checkpoint import Checkpoint
from ..conversion import Choices, Conversion
from ..finding import FoundGRU
from ..formats import FORMATS_WITH_METADATA, READ_ONLY, Format, format_module, is_folder
from ..layout import CheckpointLayout, own_name, split_prefix, translate_path
from ..output.atomic import check_regular, resolved
from ..reading.content import Content, EntryMark, Progress, flatten
from ..stored import Path, StoredTensor, branches, flat_name, walk
from .layer_order import metadata_of_words
from .other_layers import LayerPlan, plan_layers
from .provenance import KEY, describe
from .target_names import TargetNames

if TYPE_CHECKING:
    from ...facts.quantization import WeightFormat


def rewrite(
    checkpoint: Checkpoint,
    target: str | os.PathLike[str],
    format: str,
    choices: Choices | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Write a checkpoint in a format, its GRUs in that format's form; see `convert`.

    Without choices, values that the format cannot store raise an error, and tensors outside of GRUs are unchanged.

    """
    module = format_module(format)
    if format in READ_ONLY:
        raise CheckpointError(f"{os.fspath(target)}: {READ_ONLY[format]}")
    check_place(target, format)
    report = Conversion(checkpoint.format, format)
    writer = _Writer(checkpoint, module, report, choices)
    tree = writer.tree()
    if choices is None:
        refuse(report.left_out)
    source = checkpoint.content
    metadata = {key: text for key, text in source.metadata.items() if key != KEY}  # of other tensors than these
    if choices is not None and choices.provenance:
        tensors = {
            name: leaf for name, leaf in flatten(tree, os.fspath(target)).items() if isinstance(leaf, StoredTensor)
        }
        metadata[KEY] = describe(checkpoint, tensors, choices, format)
    if choices is not None and choices.layers:
        metadata |= metadata_of_words(choices.layers, checkpoint)
    metadata = stack.renamed(metadata, writer.rename, os.fspath(target))
    content = Content(tree, marks=writer.marks, metadata=metadata, parameter_names=source.parameter_names)
    module.write(target, content, progress)
    model = stack.model_of(metadata, os.fspath(target))
    if (
        model
        and format not in FORMATS_WITH_METADATA
        and not getattr(module, "keeps_layers", lambda content: False)(content)
    ):
        report.notes.append(
            f"{format} keeps neither the order of the layers nor what is between them: {stack.describe(model)}"
        )
    return report


def refuse(problems: Mapping[str, str]) -> None:
    """Raise an error that lists the values that cannot be written, if there are any; `naming` adds the file."""
    listed = [f"{name} ({why})" for name, why in problems.items()]
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    if problems:
        raise CheckpointError(f"cannot be written: {'; '.join(listed[:5])}{more}")


def check_place(target: str | os.PathLike[str], format: str) -> None:
    """Refuse a path to which this format cannot be written, before any work is done."""
    found = check_regular(resolved(target), target)
    wants_folder, is_a_folder = is_folder(format), bool(found) or os.fspath(target).endswith(os.sep)
    parent = os.path.dirname(os.path.realpath(target))
    if not wants_folder and not os.path.isdir(parent):  # a folder is created with its parents
        raise CheckpointError(f"{os.fspath(target)}: cannot be written: there is no folder {parent}")
    if (found is not None or is_a_folder) and is_a_folder != wants_folder:
        there, wanted = ("file", "folder") if wants_folder else ("folder", "file")
        raise CheckpointError(f"{os.fspath(target)}: cannot be written: it is a {there}, {format} needs a {wanted}")


def _is_text(name: str) -> bool:
    """Whether a name can be written as UTF-8; a name from a pickle may contain half of a surrogate pair."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Writer:
    """Makes the tree that is written."""

    def __init__(self, checkpoint: Checkpoint, module: Format, report: Conversion, choices: Choices | None):
        self._checkpoint, self._module, self._report = checkpoint, module, report
        given = choices or Choices()
        self._names = TargetNames(checkpoint.renames(given.mapping))
        self._approximate, self._style = given.approximate, given.style
        self._weights = given.weights
        self._gru_layers = {name: gru for gru in checkpoint.gru_layers for name in gru.names}
        self._plan = self._planned(choices)
        self._layer_names = given.layer_names
        self._branches = branches(checkpoint.content.tree)
        self._written: set[int] = set()
        self._problems: dict[str, str] = {}
        self.marks: dict[str, EntryMark] = {}

    def _planned(self, choices: Choices | None) -> LayerPlan:
        """Identify the other tensors, and note the findings in the report."""
        if choices is None:
            return LayerPlan()
        others = {name: value for name, value in self._checkpoint.stored.items() if name not in self._gru_layers}
        report = self._report
        plan = plan_layers(others, report.source, report.target, choices.transpose, choices.no_transpose)
        report.transposed, report.undecided = plan.transposed, plan.undecided
        if not choices.layer_names:
            report.other_names = {old: new for old, new in plan.renamed.items() if old not in plan.certain}
        if plan.again:
            names = "names of the same tensors that Paddle alone has"
            report.notes.append(f"{len(plan.again)} further {names} are not written, such as {next(iter(plan.again))}")
        return plan

    def rename(self, name: str) -> str:
        """Give the new name of a tensor or a layer."""
        return str(self._names.rename(name))

    def tree(self) -> Any:
        """Give the tree, nested as the source is if the target can be nested, otherwise flat.

        Raises:
            CheckpointError: the target cannot hold a tensor or a GRU, names collide, or the mapping has mistakes.
        """
        source = self._checkpoint.content.tree
        if self._module.NESTED and self._nested_gru_layers():
            tree = self._rebuild(source, ())
        elif isinstance(source, list) and getattr(self._module, "LISTS", False):
            tree = [self._rebuild(leaf, (index,)) for index, leaf in enumerate(source)]
        else:
            tree = self._rebuild({flat_name(path): leaf for path, leaf in walk(source)}, ())
        refuse(self._problems)
        self._names.check_used()
        if isinstance(tree, dict) and hasattr(self._module, "note"):
            self._report.notes.append(self._module.note(tree))
        return tree

    def _nested_gru_layers(self) -> bool:
        """Whether each GRU is in one dict, so that it can be replaced there."""
        homes: dict[int, set[Path]] = {}
        for path, _ in walk(self._checkpoint.content.tree):
            gru = self._gru_layers.get(flat_name(path))
            if gru is not None:
                homes.setdefault(id(gru), set()).add(path[:-1])
        cut = any(gru.origins for gru in self._gru_layers.values())
        return not cut and all(len(paths) == 1 for paths in homes.values())

    def _rebuild(self, tree: object, path: Path) -> Any:
        if isinstance(tree, dict):
            return self._rebuild_dict(tree, path)
        if isinstance(tree, list | tuple) and id(tree) in self._branches:
            rebuilt = [self._rebuild(value, (*path, index)) for index, value in enumerate(tree)]
            # an omitted entry of a list leaves a gap, so that other entries keep their places
            values = [None if value is _LEFT_OUT else value for value in rebuilt]
            return values if isinstance(tree, list) else tuple(values)
        if isinstance(tree, StoredTensor):
            name = flat_name(path)
            if name in self._plan.again:
                return _LEFT_OUT
            if self._layer_names and name in self._plan.unknown:
                self._report.left_out[name] = f"{self._report.target} keeps no such part of the layer"
                return _LEFT_OUT
            if name in self._plan.transposed:
                return self._fit(name, StoredTensor(np.ascontiguousarray(tree.values.T), tree.dtype))
            only_ours = _only_ours(name, tree)
            if only_ours and self._report.target not in _OWN_NAMES:
                self._problems[name] = f"it is of a GRU with {only_ours}, which {self._report.target} has not"
            self._report.kept.append(name)
        return self._fit(flat_name(path), tree)

    def _rebuild_dict(self, tree: dict[Any, Any], path: Path) -> Any:
        new: dict[Any, Any] = OrderedDict() if isinstance(tree, OrderedDict) else {}
        for key, value in tree.items():
            full = flat_name((*path, key))
            gru = self._gru_layers.get(full)
            if gru is not None:
                for name, stored in self._gru_once(gru, path):
                    self._put(new, name, stored, path)
                continue
            fitted = self._rebuild(value, (*path, key))
            if fitted is _LEFT_OUT:
                continue
            renamed = self._new_name(key, full)
            if renamed != key:
                self._report.renamed[full] = flat_name((*path, renamed))
            self._put(new, renamed, fitted, path)
            again = self._again(renamed, full)
            if again is not None:
                self._put(new, again, fitted, path)
        return new

    def _again(self, renamed: object, full: str) -> str | None:
        """The second name of a tensor that was renamed from `full`, if the target's framework has a second name."""
        cell = self._plan.further.get(full)
        if cell is None or not isinstance(renamed, str):
            return None
        same = len(os.path.commonprefix([full, cell]))
        return renamed.removesuffix(full[same:]) + cell[same:] if renamed.endswith(full[same:]) else None

    def _new_name(self, key: Any, full: str) -> Any:
        """The key after the mapping, and optionally with the target's word for the part of a layer."""
        renamed = self._names.rename(key)
        wanted = self._plan.renamed.get(full) if self._layer_names or full in self._plan.certain else None
        if wanted is None or not isinstance(renamed, str):
            return renamed
        same = len(os.path.commonprefix([full, wanted]))
        ending = full[same:]
        return renamed.removesuffix(ending) + wanted[same:] if renamed.endswith(ending) else renamed

    def _put(self, target: dict[Any, Any], key: object, value: object, path: Path) -> None:
        if isinstance(key, str) and not key.isascii() and not _is_text(key):
            raise CheckpointError(f"cannot be written: the name {flat_name((*path, key))!r} is not valid Unicode")
        if key in target:
            raise CheckpointError(f"cannot be written: two values would get the name {flat_name((*path, key))!r}")
        target[key] = value

    def _fit(self, name: str, leaf: object) -> Any:
        """The leaf as the target can hold it."""
        problem = self._module.problem(leaf)
        if problem is None:
            return leaf
        if not isinstance(leaf, StoredTensor):
            self._report.left_out[name] = problem
            return _LEFT_OUT
        wider = StoredTensor.of(leaf.widened())
        if self._module.problem(wider) is not None:
            self._problems[name] = problem
        elif not self._approximate:
            self._problems[name] = f"{problem}; with approximations allowed it becomes {wider.dtype}"
        else:
            self._report.approximated.append(f"{name}: {leaf.dtype} became {wider.dtype}")
        return wider

    def _gru_once(self, gru: FoundGRU, home: Path) -> Iterator[tuple[str, StoredTensor]]:
        """The GRU's tensors under their new names, when its first one is met; nothing after that."""
        from ..translation import core_weights, framework_tensors

        if id(gru) in self._written:
            return
        self._written.add(id(gru))
        layout = self._choose(gru)
        prefix = flat_name(home)
        path = gru.path[len(prefix) :].lstrip(".") if prefix else gru.path
        path = translate_path(path, layout.separators[0])
        if self._layer_names and self._report.source == "mxnet":
            path = path.removeprefix("arg:")
        tensors = framework_tensors(core_weights(gru, self._checkpoint.stored), gru, layout, path)
        tensors, layout = self._frozen(gru, tensors, layout, path)
        renamed_path = self._renamed_path(path, tensors, layout)
        full_path = flat_name((*home, renamed_path)) if renamed_path else prefix
        if layout.marked:
            formula = gru.formula | ({"zoneout": repr(gru.zoneout)} if gru.zoneout else {})
            self.marks[full_path] = EntryMark(formula, gru.reverse)
            self._report.notes.append(
                f"{full_path or 'the GRU'}: only {layout.name} computes it, torch has no such GRU"
            )
        if layout.concatenated and gru.bias and not gru.layout.concatenated:
            words = "its two biases became one, their sum, which under this formula is always what counts"
            self._report.notes.append(f"{full_path or 'the GRU'}: {words}")
        self._report.converted.append((gru, full_path, layout))
        for name, stored in tensors.items():
            yield self._names.rename(name), self._fit(name, stored)

    def _frozen(
        self, gru: FoundGRU, tensors: dict[str, StoredTensor], layout: CheckpointLayout, path: str
    ) -> tuple[dict[str, StoredTensor], CheckpointLayout]:
        """The tensors as a frozen layer has them, if one is written."""
        from ..translation import freeze_tensors

        can = layout.freezable and self._report.target in ("safetensors", "torch")
        wanted = cast("WeightFormat", self._weights or (gru.frozen if can else "") or "float32")
        if wanted == "float32":
            if gru.frozen:
                self._report.notes.append(f"{gru.path or 'the GRU'}: its {gru.frozen} weights became float32")
            return tensors, layout
        if gru.zoneout:
            raise CheckpointError(f"--weights {wanted}: {gru.path or 'the GRU'}: a frozen layer has no zoneout")
        if not can:
            raise CheckpointError(
                f"--weights {wanted}: frozen layers are written to safetensors and torch files, not to {self._report.target}"
            )
        start = len(path) + 1 if path else 0
        if gru.frozen == wanted:  # unchanged: rounding them again could change the last bit
            before = f"{gru.path}." if gru.path else ""
            names = [before + tensor[start:] for tensor in tensors]
            names += [name + SCALE for name in names if name + SCALE in gru.names]
            renamed = {
                (f"{path}." if path else "") + name[len(before) :]: self._checkpoint.stored[name] for name in names
            }
        else:
            renamed = freeze_tensors(tensors, wanted)
            self._report.frozen[gru.path] = wanted
        marks = {FORMULA_ENTRY: layout.reset == "before", HALF_ENTRY: wanted == "bfloat16" and not gru.bias}
        for mark, holds in marks.items():
            if holds:
                renamed[f"{path}.{mark}" if path else mark] = StoredTensor.of(np.ones((), np.uint8))
        return renamed, replace(layout, name=own_name(layout.cell, True))

    def _renamed_path(self, path: str, tensors: Mapping[str, StoredTensor], layout: CheckpointLayout) -> str:
        """The layer's own name after the mapping, which has to treat all its tensors alike."""
        paths = set()
        for name in tensors:
            ending = name[len(path) + 1 :] if path else name
            renamed = self._names.rename(name)
            if not renamed.endswith(ending):
                raise CheckpointError(f"mapping: {name!r} becomes {renamed!r}, which no GRU of {layout.name} has")
            paths.add(split_prefix(renamed[: -len(ending)]))
        if len(paths) > 1:
            raise CheckpointError(f"mapping: the tensors of {path!r} would be torn apart: {sorted(paths)}")
        return paths.pop()

    def _choose(self, gru: FoundGRU) -> CheckpointLayout:
        """The target's layout for a GRU.

        Raises:
            CheckpointError: no equivalent exists.
        """
        layouts: list[CheckpointLayout] = [*self._module.LAYOUT, *getattr(self._module, "MARKED_LAYOUT", ())]
        if self._style is not None and self._style not in {layout.name for layout in layouts}:
            known = dict.fromkeys(layout.name for layout in layouts)
            listed = f"{self._report.target}'s: {', '.join(known)}{near(self._style, known)}"
            raise CheckpointError(f"style {self._style!r} is not one of {listed}")
        own = gru.gate_activation, gru.activation
        same_kind = [layout for layout in layouts if layout.cell == gru.cell and gru.directions in layout.sides]
        fitting = [layout for layout in same_kind if layout.reset == gru.reset]
        name = gru.path or "the GRU"
        special = f"its activations {own}" + (" and its direction (backwards)" if gru.reverse else "")
        special += f" and its zoneout of {gru.zoneout:g}" if gru.zoneout else ""
        if gru.problem and not self._approximate:
            raise CheckpointError(f"{name}: {gru.problem}; with approximations allowed the weights alone are written")
        if gru.problem:
            self._report.approximated.append(f"{name}: the weights alone are written: {gru.problem}")
        elif own != ("sigmoid", "tanh") or gru.reverse or gru.zoneout:
            marked = [layout for layout in layouts if layout.marked and layout.cell == gru.cell]
            if marked:
                return marked[0]
            if not self._approximate:
                raise CheckpointError(
                    f"{name}: {special} have no place in a file of {self._report.target}; with "
                    f"approximations allowed the weights alone are written"
                )
            self._report.approximated.append(f"{name}: {special} have to be set by hand")
        kind = "cell" if gru.cell else "bidirectional layer" if gru.bidirectional else "layer"
        if not same_kind:
            raise CheckpointError(f"{name}: {self._report.target} has no GRU {kind}")
        if not fitting:
            raise CheckpointError(
                f"{name}: {self._report.target} has no GRU {kind} with the reset {gru.reset} the product, as "
                f"{gru.layout.name} has it: no weights of another formula give the same results"
            )
        if gru.layout in fitting and self._style is None:
            return gru.layout
        others = [name for name in self._checkpoint.stored if name not in self._gru_layers]
        preferred = getattr(self._module, "preferred_styles", lambda path, others: ())(gru.path, others)
        wanted = [layout for layout in fitting if layout.name in ((self._style,) if self._style else preferred)]
        return (wanted or fitting)[0]


_OWN_NAMES = ("torch", "safetensors")
"""Formats in which layers of anygru are written unchanged."""
_PARTS = re.compile(r"(?:^|\.)(weight_hh|gain_hh)(?:_l\d{1,3}(?:_reverse)?)?\Z")


def _only_ours(name: str, stored: StoredTensor) -> str:
    """The anygru-only feature that a tensor of a GRU implies, or ""."""
    match = _PARTS.search(name[-64:])
    if match is None:
        return ""
    if match[1] == "gain_hh":
        return "layer norm"
    return "groups (write the layer that its ungrouped() gives)" if len(stored.shape) == 3 else ""


_LEFT_OUT = object()
