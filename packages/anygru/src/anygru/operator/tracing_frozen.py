"""A frozen layer as torch.compile and torch.export see it: one node that holds the stored weights.

The node packs them when it first runs, and keeps the packed copy until the tensors change or die.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ..facts import sequences
from ..facts.decays import to_rows
from ..facts.formula import Formula
from ..facts.modifiers import Modifiers
from ..facts.quantization import Stored, dequantize_all
from ..facts.weights import Layout
from . import tracing
from .frozen_weights import FrozenWeights

_library = torch.library.Library("anygru", "FRAGMENT")
_library.define(
    f"frozen_gru(Tensor input, Tensor h_0, Tensor[] values, Tensor[] scales, {tracing.FACTS}) -> (Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
_packed = WeakTensorKeyDictionary()
"""Cache by the first tensor: (facts, identities and versions of the tensors, the packed copy)."""


def run(
    input: Tensor,
    h_0: Tensor,
    stored: Sequence[Stored],
    batch_sizes: Tensor | None,
    modifiers: Modifiers,
    layout: Layout,
    formula: Formula,
    backend: str | None,
) -> tuple[Tensor, Tensor]:
    """As `tracing.run`, with stored weights."""
    if not tracing.is_one_node(formula, backend):
        return tracing.run(input, h_0, dequantize_all(stored), batch_sizes, modifiers, layout, formula, backend)
    values = [one.values for one in stored]
    scales = [one.scale for one in stored if one.scale is not None]
    facts = (batch_sizes, *modifiers, *layout[1:], *formula, backend)
    found: tuple[Tensor, Tensor] = torch.ops.anygru.frozen_gru(input, h_0, values, scales, *facts)
    return found


def join(values: Sequence[Tensor], scales: Sequence[Tensor]) -> list[Stored]:
    """The arguments of the node as stored weights: each int8 matrix has the next scale."""
    remaining = iter(scales)
    return [Stored(one, next(remaining) if one.dtype is torch.int8 else None) for one in values]


def _frozen(values: Sequence[Tensor], scales: Sequence[Tensor], facts: tuple[Any, ...]) -> FrozenWeights:
    tensors = (*values, *scales)
    marks = [(id(tensor), 0 if tensor.is_inference() else tensor._version) for tensor in tensors]
    entry = _packed.get(values[0])
    if entry is not None and entry[:2] == (facts, marks):
        return cast(FrozenWeights, entry[2])
    frozen = FrozenWeights(join(values, scales), *tracing.read_facts(values, facts))
    _packed[values[0]] = (facts, marks, frozen)
    return frozen


def _forward(
    input: Tensor,
    h_0: Tensor,
    values: list[Tensor],
    scales: list[Tensor],
    batch_sizes: Tensor | None,
    *rest: Any,
) -> tuple[Tensor, Tensor]:
    modifiers, facts = Modifiers(*rest[:4]), rest[4:]
    if batch_sizes is not None and input.dim() == 3:
        rows = sequences.enter(input, batch_sizes, False)
        own = to_rows(modifiers, rows)
        output, h_n = _forward(rows.data, rows.sort_state(h_0), values, scales, rows.batch_sizes, *own, *facts)
        return cast(Tensor, rows.restore(output)), rows.unsort_state(h_n)
    frozen = _frozen(values, scales, facts)
    problem = tracing.problem_of(input, h_0, frozen.layout, frozen.formula, batch_sizes, modifiers)
    problem = problem._replace(rounds_rows=frozen.rounds_rows)
    return tracing.own_results(*frozen.run(problem, input, h_0, batch_sizes, modifiers))


def _fake_forward(
    input: Tensor,
    h_0: Tensor,
    values: list[Tensor],
    scales: list[Tensor],
    batch_sizes: Tensor | None,
    *rest: Any,
) -> tuple[Tensor, Tensor]:
    return tracing.fake_results(input, h_0, rest[4])


_library.impl("frozen_gru", _forward, "CompositeExplicitAutograd")
torch.library.register_fake("anygru::frozen_gru", _fake_forward, lib=_library)
