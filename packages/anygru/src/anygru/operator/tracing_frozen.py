"""A frozen layer as torch.compile and torch.export see it: one node that holds the stored weights.

The node packs them when it first runs, and keeps the packed copy until the tensors change or die.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ..facts import torch_private
from ..facts.formula import Formula
from ..facts.problem import Call, Options
from ..facts.quantization import Stored, dequantize_all
from . import tracing
from .frozen_weights import FrozenWeights

_library = torch.library.Library("anygru", "FRAGMENT")
ARGUMENTS = f"Tensor input, Tensor h_0, Tensor[] values, Tensor[] scales, {tracing.FACTS}, str precision"
_library.define(f"frozen_gru({ARGUMENTS}) -> (Tensor, Tensor)", tags=torch.Tag.pt2_compliant_tag)
_packed = WeakTensorKeyDictionary()
"""Cache by the first tensor: (facts, identities and versions of the tensors, the packed copy)."""


def run(call: Call, frozen: FrozenWeights, formula: Formula, backend: str | None) -> tuple[Tensor, Tensor]:
    """As `tracing.run`, with stored weights and not the call's."""
    stored, layout = frozen.stored(), frozen.layout
    if not tracing.is_one_node(formula, backend):
        return tracing.run(call._replace(weights=dequantize_all(stored)), layout, formula, backend)
    values = [one.values for one in stored]
    scales = [one.scale for one in stored if one.scale is not None]
    input, h_0, _, batch_sizes, modifiers = call
    facts = (batch_sizes, *modifiers, *layout, *formula, backend, frozen.precision)
    node = torch.ops.anygru.frozen_gru.exported if torch_private.is_exporting() else torch.ops.anygru.frozen_gru.default
    found: tuple[Tensor, Tensor] = node(input, h_0, values, scales, *facts)
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
    frozen = FrozenWeights(join(values, scales), *tracing.read_facts(facts), facts[-1])
    _packed[values[0]] = (facts, marks, frozen)
    return frozen


def _forward(
    input: Tensor, h_0: Tensor, values: list[Tensor], scales: list[Tensor], sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor]:
    modifiers, facts = tracing.read_rest(rest)
    call, frozen = Call(input, h_0, (), sizes, modifiers), _frozen(values, scales, tuple(facts))
    if tracing.is_padded(call):
        packed, rows = tracing.pack(call)
        output, h_n = _compute(packed, frozen)
        return cast(Tensor, rows.restore(output)), rows.unsort_state(h_n)
    return _compute(call, frozen)


def _compute(call: Call, frozen: FrozenWeights) -> tuple[Tensor, Tensor]:
    problem = tracing.problem_of(call, frozen.layout, Options(frozen.formula))._replace(rounds_rows=frozen.rounds_rows)
    return tracing.own_results(*frozen.run(problem, call))


def _fake_forward(
    input: Tensor, h_0: Tensor, values: list[Tensor], scales: list[Tensor], sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor]:
    _, facts = tracing.read_rest(rest)
    return tracing.fake_results(input, h_0, tracing.read_facts(facts)[0])


_library.impl("frozen_gru", _forward, "CompositeExplicitAutograd")
torch.library.register_fake("anygru::frozen_gru", _fake_forward, lib=_library)
