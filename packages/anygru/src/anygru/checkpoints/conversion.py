"""The options of a conversion, and its report."""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .finding import FoundGRU
from .layout import CheckpointLayout

if TYPE_CHECKING:
    from ..facts.quantization import WeightFormat


@dataclass(frozen=True)
class Choices:
    """The options of a conversion.

    Attributes:
        source_format, target_format: names of formats; None: by content, and by the target's ending.
        mapping: new names by old ones, applied to the names to be written: whole names, or names of layers and other prefixes
            that end before a separator. The longest name that fits counts. Parts of GRUs too: see `writing.cutting`.
        approximate: write inexact results too (biases added under reset="after", dtypes widened) and list them in the report.
        bidirectional: see `load_checkpoint`.
        style: the name of the target's layout, where it has several.
        transpose: names, or patterns with * and ?, of tensors with two dimensions to transpose. Between Paddle and
            other frameworks, weights of linear layers that are identified by a bias are always transposed; see
            `writing.other_layers`.
        no_transpose: of tensors to keep unchanged.
        layer_names: write the parts of other layers under the names of the target's framework ("gamma", "W").
        like: a file of Keras; the target is a copy of it with the weights of the source, see `filling.fill`. The mapping
            then maps names of GRUs in the source to names in that file.
        weights: the format of the GRUs' matrices: "bfloat16" or "int8" writes frozen layers (to safetensors and torch
            files), "float32" plain ones; None: as in the source, if the target supports it.
        layers: for RTNeural's and GuitarML's files, the names of the layers in the order in which they compute, with
            activations between them and "+input" at the end if the input is added; see `writing.layer_order`.
        sandbox: see `load_checkpoint`.
        provenance: write digests, the version and these options into the target's metadata; see `writing.provenance`.
    """

    source_format: str | None = None
    target_format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    approximate: bool = False
    bidirectional: Collection[str] = ()
    style: str | None = None
    transpose: Collection[str] = ()
    no_transpose: Collection[str] = ()
    layer_names: bool = False
    like: str | os.PathLike[str] | None = None
    weights: "WeightFormat | None" = None
    layers: Sequence[str] = ()
    sandbox: bool = False
    provenance: bool = False


@dataclass(frozen=True)
class Verdict:
    """The comparison of a GRU of the result with its source on the same random input.

    Attributes:
        path: its name in the result.
        same_bits: whether outputs and last states are the same, bit for bit.
        difference: the largest difference of an output otherwise.
        by: the sources of both results: the frameworks' documentation (see `documented`), and the installed
            frameworks.
        reason: why no comparison was possible; empty otherwise.
    """

    path: str
    same_bits: bool = False
    difference: float = math.inf
    by: str = ""
    reason: str = ""


@dataclass
class Conversion:
    """The report of a conversion.

    Attributes:
        source, target: the formats' names.
        converted: each GRU with the name and layout that it got.
        kept: names of the tensors outside of GRUs, which are unchanged.
        transposed: names of the tensors that were transposed, with the reason.
        undecided: names of two-dimensional tensors that may belong to a linear layer, which the target's framework keeps
            transposed; they are unchanged.
        other_names: names of parts of layers as the target's framework writes them, by the name that they kept.
        renamed: names that the mapping changed, old to new.
        left_out: names of values that the target has no room for, with the reason.
        approximated: descriptions of the inexact parts; empty unless they were allowed.
        notes: important facts for using the result.
        verdicts: for each GRU, the comparison of its results.
        moves: the source and target rows of each tensor, as text, by the GRU's name in the result.
        frozen: the formats of the GRUs whose weights were rounded for a frozen layer, by the GRU's name in the source.
    """

    source: str
    target: str
    converted: list[tuple[FoundGRU, str, CheckpointLayout]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    transposed: dict[str, str] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    other_names: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    approximated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    moves: dict[str, list[str]] = field(default_factory=dict)
    frozen: dict[str, str] = field(default_factory=dict)
