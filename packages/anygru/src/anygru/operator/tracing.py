"""The operator for torch.compile and torch.export: one node for any batch and length.

Eager calls do not come here: a dispatched operator costs several microseconds, which is much for one step of a small
GRU. A traced graph holds `anygru::gru`; its shapes, symbolic or not, follow from the shapes of the input. When the
graph runs, the backend is chosen for the tensors at hand, as in an eager call.

The operator takes three forms of batch: `[T, B, I]` alone; packed rows `[N, I]` with `sizes` [T], the rows of each step; and a
padded batch `[T, B, I]` with `sizes` [B], the lengths. A padded batch is packed when the graph runs, since the number of rows
depends on the data.

Gradients: a backend with the passes `forward` and `backward` (see backends/README.md) passes its reserve, one flat tensor, from
the first node to the second; for other backends the second node computes the forward again.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias, cast, get_type_hints

import torch
from torch import Tensor

from .. import backends
from ..backends import products, reference
from ..backends.backend import Backend
from ..backends.recorded import plan
from ..facts import sequences, torch_private
from ..facts.decays import to_rows
from ..facts.formula import Formula
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Options, Problem
from ..facts.weights import Layout

_library = torch.library.Library("anygru", "DEF")
MODIFIERS = len(Modifiers._fields)
Facts: TypeAlias = tuple[Layout, Formula, str | None]
"""The arguments of a node that are not tensors; its schema lists each field; the last is the name of a backend."""


def read_facts(flat: Iterable[Any]) -> Facts:
    """The facts from the arguments of a node after the modifiers; arguments after the backend are ignored."""
    given = iter(flat)
    layout, formula = Layout(*islice(given, len(Layout._fields))), Formula(*islice(given, len(Formula._fields)))
    return layout, formula, next(given)


def _fields(kind: type) -> str:
    """The fields of a named tuple as the schema of an operator; an activation by its name."""
    types = {bool: "bool", int: "int", float | None: "float?"}
    return ", ".join(f"{types.get(hint, 'str')} {name}" for name, hint in get_type_hints(kind).items())


FACTS = (
    f"Tensor? sizes, {', '.join(f'Tensor? {name}' for name in Modifiers._fields)}, "
    f"{_fields(Layout)}, {_fields(Formula)}, str? backend"
)
_library.define(
    f"gru(Tensor input, Tensor h_0, Tensor[] weights, {FACTS}, bool keep) -> (Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
_library.define(
    "gru_backward(Tensor grad_output, Tensor grad_h_n, Tensor input, Tensor h_0, Tensor[] weights, Tensor states, "
    f"Tensor reserve, {FACTS}, bool[] needs) -> Tensor[]",
    tags=torch.Tag.pt2_compliant_tag,
)


def run(call: Call, layout: Layout, formula: Formula, backend: str | None) -> tuple[Tensor, Tensor]:
    """As a backend's `run`, traced: as one node where that can be.

    Under torch.func inside the compiled region, or with a callable for an activation, which no schema could name, the reference
    is traced step by step instead.
    """
    input, h_0, weights, batch_sizes, modifiers = call
    if not is_one_node(formula, backend):
        problem = Problem("", input.dtype, layout, formula, batch_sizes is not None, False, True, True)
        return reference.run(problem, call)
    facts = (batch_sizes, *modifiers, *layout, *formula, backend)
    if torch_private.is_exporting():
        exported: tuple[Tensor, Tensor] = torch.ops.anygru.gru.exported(input, h_0, list(weights), *facts)
        return exported
    output, h_n, *_ = torch.ops.anygru.gru.default(input, h_0, list(weights), *facts, torch.is_grad_enabled())
    return output, h_n


def is_one_node(formula: Formula, backend: str | None) -> bool:
    """Whether a traced call becomes one node; otherwise the reference is traced step by step."""
    named = isinstance(formula.gate_activation, str) and isinstance(formula.activation, str)
    return named and not _under_transform() and backend != "reference"


def _under_transform() -> bool:
    """Whether the traced code is inside vmap, grad or jvp; the compiler enters these while it traces."""
    return torch_private.transform_level() is not None


# torch.compiler.assume_constant_result sets this mark; the decorator itself would load the whole compiler with `import
# anygru`.
_under_transform._dynamo_marked_constant = True  # type: ignore[attr-defined]


def problem_of(
    call: Call, layout: Layout, options: Options, needs_grad: bool = False, transformed: bool = False
) -> Problem:
    """The problem of a call that runs."""
    input, h_0, _, batch_sizes, modifiers = call
    return Problem(
        input.device.type,
        input.dtype,
        layout,
        options.formula,
        batch_sizes is not None,
        input.numel() == 0 or h_0.numel() == 0,
        needs_grad,
        transformed,
        modified=() if modifiers is NONE else modifiers.names(),
        products=options.products,
        precision=products.precision_of(input, options.autocast),
    )


def _choose(call: Call, facts: Facts, keep: bool) -> tuple[Problem, Backend]:
    """The problem of a node and the backend that computes it."""
    layout, formula, backend = facts
    problem = problem_of(call, layout, Options(formula), keep)
    return problem, backends.choose(problem, backend)


def is_padded(call: Call) -> bool:
    """Whether the batch has the third form: [T, B, I] with lengths and no batch sizes."""
    return call.batch_sizes is not None and call.input.dim() == 3


def pack(call: Call) -> tuple[Call, sequences.Rows]:
    """A padded batch as packed rows."""
    assert call.batch_sizes is not None
    rows = sequences.enter(call.input, call.batch_sizes, False)
    modifiers = to_rows(call.modifiers, rows)
    return Call(rows.data, rows.sort_state(call.h_0), call.weights, rows.batch_sizes, modifiers), rows


def own_results(output: Tensor, h_n: Tensor) -> tuple[Tensor, Tensor]:
    """Results that a node may return: new tensors, no views, with the strides of `fake_results`."""
    return output.contiguous(), h_n.clone(memory_format=torch.contiguous_format)


def fake_results(input: Tensor, h_0: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Output and h_n by their shapes alone."""
    output = input.new_empty((*input.shape[:-1], h_0.shape[2] * layout.directions()))
    return output, torch.empty_like(h_0, memory_format=torch.contiguous_format)


def read_rest(rest: Sequence[Any]) -> tuple[Modifiers, list[Any]]:
    """The arguments of a node after `sizes`: the modifiers, and all others."""
    given = iter(rest)
    return Modifiers(*islice(given, MODIFIERS)), list(given)


def _forward(
    input: Tensor, h_0: Tensor, weights: list[Tensor], sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    modifiers, (*facts, keep) = read_rest(rest)
    return _compute(Call(input, h_0, weights, sizes, modifiers), read_facts(facts), keep)


def _compute(call: Call, facts: Facts, keep: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Output, h_n and, with keep, a copy of the output (see `backends.recorded`) and the reserve for the backward pass.

    The last two are empty for a padded batch, since its number of rows depends on the lengths.
    """
    if is_padded(call):
        packed, rows = pack(call)
        output, h_n, *kept = _compute(packed, facts, False)
        return cast(Tensor, rows.restore(output)), rows.unsort_state(h_n), kept[0], kept[1]
    problem, backend = _choose(call, facts, keep)
    if keep and backend.forward is not None:
        output, h_n, reserve = backend.forward(problem, call, True)
        return output, h_n, output.clone(), reserve
    with torch.no_grad():
        output, h_n = backend.run(problem._replace(needs_grad=False), call)
    return *own_results(output, h_n), output.new_empty(0), output.new_empty(0)


def _fake_forward(
    input: Tensor, h_0: Tensor, weights: list[Tensor], sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    modifiers, (*flat, keep) = read_rest(rest)
    call, facts = Call(input, h_0, weights, sizes, modifiers), read_facts(flat)
    output, h_n = fake_results(input, h_0, facts[0])
    states, reserve = input.new_empty(0), 0
    if keep and not is_padded(call):
        # Empty batches take another backend; a graph with symbolic sizes is traced for batches that are not empty.
        ones = call._replace(input=input.new_empty((1,) * input.dim()), h_0=h_0.new_empty((1, 1, 1)))
        problem, backend = _choose(ones, facts, keep)
        if backend.reserve_numel is not None:
            states, reserve = torch.empty_like(output), backend.reserve_numel(problem, call)
    return output, h_n, states, input.new_empty(reserve)


def _backward(grad_output: Tensor, grad_h_n: Tensor, *rest: Any) -> list[Tensor]:
    input, h_0, weights, states, reserve, sizes, *more = rest
    modifiers, (*flat, needs) = read_rest(more)
    call, facts = Call(input, h_0, weights, sizes, modifiers), read_facts(flat)
    if is_padded(call):
        return _padded_backward(call, (grad_output, grad_h_n), facts, needs)
    return _gradients(call, (states, reserve), (grad_output, grad_h_n), facts, needs)


def _gradients(
    call: Call, kept: tuple[Tensor, Tensor], grads: tuple[Tensor, Tensor], facts: Facts, needs: Sequence[bool]
) -> list[Tensor]:
    """The gradients of a call's tensors; an empty tensor for each that needs no gradient."""
    problem, backend = _choose(call, facts, True)
    if backend.backward is not None:
        found = backend.backward(problem, call, kept, grads, needs)
    else:
        with torch.no_grad():
            found = reference.gradients(problem, call, grads, needs, compute=backend.run)
    return [
        tensor.new_empty(0) if not need else torch.zeros_like(tensor) if grad is None else grad.contiguous()
        for tensor, grad, need in zip(call.tensors(), found, needs, strict=True)
    ]


def _padded_backward(call: Call, grads: tuple[Tensor, Tensor], facts: Facts, needs: Sequence[bool]) -> list[Tensor]:
    """The gradients of a padded batch; the forward pass is computed again, since how much it keeps depends on the lengths."""
    packed, rows = pack(call)
    _, _, states, reserve = _compute(packed, facts, True)
    assert call.batch_sizes is not None
    grad_rows = sequences.enter(grads[0], call.batch_sizes, False).data
    found = _gradients(packed, (states, reserve), (grad_rows, rows.sort_state(grads[1])), facts, needs)
    found[0] = cast(Tensor, rows.restore(found[0])) if needs[0] else found[0]
    found[1] = rows.unsort_state(found[1]) if needs[1] else found[1]
    for place in range(2 + len(call.weights), len(found)):
        if needs[place]:
            found[place] = torch.stack([cast(Tensor, rows.restore(grad)) for grad in found[place]])
    return found


def _fake_backward(grad_output: Tensor, grad_h_n: Tensor, *rest: Any) -> list[Tensor]:
    input, h_0, weights, _, _, sizes, *more = rest
    modifiers, (*_, needs) = read_rest(more)
    call = Call(input, h_0, weights, sizes, modifiers)
    return [
        torch.empty_like(tensor, memory_format=torch.contiguous_format) if need else tensor.new_empty(0)
        for tensor, need in zip(call.tensors(), needs, strict=True)
    ]


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    input, h_0, weights, batch_sizes, *rest = inputs
    modifiers, (*ctx.facts, _) = read_rest(rest)
    ctx.count, ctx.ragged, ctx.modified = len(weights), batch_sizes is not None, modifiers.names()
    tensors = [input, h_0, *weights, *modifiers.present()]
    ctx.needs = tuple(tensor.requires_grad for tensor in tensors)
    # As `recorded.keep`, unless the backward pass computes the forward pass again.
    ctx.unread = {}
    if output[2].dim() > 1:
        layout, formula, _ = read_facts(ctx.facts)
        steps = (input if batch_sizes is None else batch_sizes).shape[0]
        _, others, _, has_h_0 = plan(layout, formula.reset, ctx.needs, isinstance(steps, int) and steps == 1)
        ctx.unread = {place: tensors[place].shape for place in others(range(len(tensors))) if place != 1}
        tensors[1] = h_0.clone() if has_h_0 else h_0
    saved = [tensor for place, tensor in enumerate(tensors) if place not in ctx.unread]
    ctx.save_for_backward(*output[2:], *saved, *((batch_sizes,) if ctx.ragged else ()))


def _autograd_backward(ctx: Any, grad_output: Tensor, grad_h_n: Tensor, *_: Tensor) -> tuple[Any, ...]:
    states, reserve, *tensors = ctx.saved_tensors
    for place, shape in ctx.unread.items():
        tensors.insert(place, states.new_empty(shape))
    end = 2 + ctx.count
    input, h_0, weights = tensors[0], tensors[1], tensors[2:end]
    modifiers = Modifiers.of(ctx.modified, tensors[end : end + len(ctx.modified)])
    batch_sizes = tensors[-1] if ctx.ragged else None
    found = torch.ops.anygru.gru_backward(
        grad_output, grad_h_n, input, h_0, weights, states, reserve, batch_sizes, *modifiers, *ctx.facts, ctx.needs
    )
    grads = [grad if need else None for grad, need in zip(found, ctx.needs, strict=True)]
    of_modifiers = dict(zip(ctx.modified, grads[end:], strict=True))
    return (
        grads[0],
        grads[1],
        grads[2:end],
        None,
        *(of_modifiers.get(name) for name in Modifiers._fields),
        *(None,) * (len(ctx.facts) + 1),
    )


_library.impl("gru", _forward, "CompositeExplicitAutograd")
_library.impl("gru_backward", _backward, "CompositeExplicitAutograd")
torch.library.register_fake("anygru::gru", _fake_forward, lib=_library)
torch.library.register_fake("anygru::gru_backward", _fake_backward, lib=_library)
torch.library.register_autograd("anygru::gru", _autograd_backward, setup_context=_setup_context, lib=_library)
