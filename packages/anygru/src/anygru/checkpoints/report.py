"""The report of a conversion."""

from dataclasses import dataclass, field

from .finding import FoundGRU
from .layout import Layout


@dataclass(frozen=True)
class Verdict:
    """How a GRU of the result compares with that of the source on the same random input.

    Attributes:
        path: its name in the result.
        same_bits: whether outputs and last states are the same, bit for bit.
        difference: the largest difference of an output otherwise.
    """

    path: str
    same_bits: bool
    difference: float


@dataclass
class Report:
    """The report of a conversion.

    Attributes:
        source, target: the formats' names.
        converted: each GRU with the name and layout that it got.
        kept: names of the tensors that are no part of a GRU and stay as they are.
        transposed: names of the tensors that were transposed, with the reason.
        undecided: names of two-dimensional tensors that may belong to a linear layer, which the target's framework keeps
            transposed; they stay as they are.
        other_names: names of parts of layers as the target's framework writes them, by the name that they kept.
        renamed: names that the mapping changed, old to new.
        left_out: names of values that the target has no room for, with the reason.
        approximated: what is not exact, in words; empty unless it was allowed.
        notes: what a person has to know to use the result.
        verdicts: for each GRU, how its results compare.
        frozen: the formats of the GRUs whose weights were rounded for a frozen layer, by the GRU's name in the source.
    """

    source: str
    target: str
    converted: list[tuple[FoundGRU, str, Layout]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    transposed: dict[str, str] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    other_names: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    approximated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    frozen: dict[str, str] = field(default_factory=dict)
