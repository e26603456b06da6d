"""The operator as torch.compile and torch.export see it: one node, whatever the batch and the length.

Eager calls do not come here: a dispatched operator costs several microseconds, which is much for one step of a small GRU. A
traced graph holds `anygru::gru`, whose shapes follow from its input's, symbolic ones included. When the graph runs, the backend
is chosen for the tensors at hand, as in an eager call.

The operator takes three forms of batch: `[T, B, I]` alone; packed rows `[N, I]` with `sizes` [T], the rows of each step; and a
padded batch `[T, B, I]` with `sizes` [B], the lengths. A padded batch is packed when the graph runs, since the number of rows
depends on the data.

Gradients: a backend that exports `reserve_numel`, `forward` and `backward` (see backends/README.md) hands what its backward
needs from the first node to the second in one flat tensor; for the others the second computes the forward again.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard, cast

import torch
from torch import Tensor

from .. import backends
from ..backends import reference
from ..facts import sequences
from ..facts.decays import to_rows
from ..facts.formula import Formula
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Problem
from ..facts.weights import Layout, count_layers

_Facts: TypeAlias = tuple[Any, ...]
"""The arguments named in `FACTS`, without batch_sizes."""

_library = torch.library.Library("anygru", "DEF")
FACTS = (
    "Tensor? sizes, Tensor? decay, Tensor? candidate, Tensor? zoneout, Tensor? mask, "
    "bool bidirectional, bool bias, bool reverse, bool norm, str reset, str gate_activation, str activation, str? backend"
)
_library.define(
    f"gru(Tensor input, Tensor h_0, Tensor[] weights, {FACTS}, bool keep) -> (Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
_library.define(
    "gru_backward(Tensor grad_output, Tensor grad_h_n, Tensor input, Tensor h_0, Tensor[] weights, Tensor output, "
    f"Tensor reserve, {FACTS}, bool[] needs) -> Tensor[]",
    tags=torch.Tag.pt2_compliant_tag,
)


def run(
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    modifiers: Modifiers,
    layout: Layout,
    formula: Formula,
    backend: str | None,
) -> tuple[Tensor, Tensor]:
    """As a backend's `run`, traced: as one node where that can be.

    Under torch.func inside the compiled region, or with a callable for an activation, which no schema could name, the reference
    is traced step by step instead.
    """
    if not is_one_node(formula, backend):
        problem = Problem("", input.dtype, layout, formula, batch_sizes is not None, False, True, True)
        return reference.run(problem, input, h_0, weights, batch_sizes, modifiers)
    facts = (batch_sizes, *modifiers, *layout[1:], *formula, backend)
    output, h_n, _ = torch.ops.anygru.gru(input, h_0, list(weights), *facts, torch.is_grad_enabled())
    return output, h_n


def is_one_node(formula: Formula, backend: str | None) -> bool:
    """Whether a traced call becomes one node; otherwise the reference is traced step by step."""
    named = isinstance(formula.gate_activation, str) and isinstance(formula.activation, str)
    return named and not _under_transform() and backend != "reference"


def _under_transform() -> bool:
    """Whether the traced code stands inside vmap, grad or jvp; the compiler enters these while it traces."""
    return torch._C._functorch.maybe_current_level() is not None


# What torch.compiler.assume_constant_result sets; the decorator itself would load the whole compiler with `import anygru`.
_under_transform._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _problem(
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    modifiers: Modifiers,
    facts: _Facts,
    keep: bool,
) -> Problem:
    layout, formula, _ = read_facts(weights, facts)
    return problem_of(input, h_0, layout, formula, batch_sizes, modifiers)._replace(needs_grad=keep)


def read_facts(weights: Sequence[Tensor], facts: _Facts) -> tuple[Layout, Formula, str | None]:
    """The layout, the formula and the name of the backend."""
    bidirectional, bias, reverse, norm, reset, gate_activation, activation, backend = facts
    formula = Formula(reset, gate_activation, activation)
    return count_layers(weights, bidirectional, bias, reverse, norm), formula, backend


def problem_of(
    input: Tensor, h_0: Tensor, layout: Layout, formula: Formula, batch_sizes: Tensor | None, modifiers: Modifiers
) -> Problem:
    """The problem of a node that runs, without gradients."""
    return Problem(
        input.device.type,
        input.dtype,
        layout,
        formula,
        ragged=batch_sizes is not None,
        empty=input.numel() == 0 or h_0.numel() == 0,
        needs_grad=False,
        transformed=False,
        modified=modifiers.names,
    )


def own_results(output: Tensor, h_n: Tensor) -> tuple[Tensor, Tensor]:
    """Results that a node may return: new tensors, no views, with the strides of `fake_results`."""
    return output.contiguous(), h_n.clone(memory_format=torch.contiguous_format)


def fake_results(input: Tensor, h_0: Tensor, bidirectional: bool) -> tuple[Tensor, Tensor]:
    """Output and h_n by their shapes alone."""
    output = input.new_empty((*input.shape[:-1], h_0.shape[2] * (2 if bidirectional else 1)))
    return output, torch.empty_like(h_0, memory_format=torch.contiguous_format)


class _Keeping(backends.Backend, Protocol):
    """A backend whose forward keeps tensors for its backward; see backends/README.md."""

    @staticmethod
    def reserve_numel(
        problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
    ) -> int: ...

    @staticmethod
    def forward(
        problem: Problem,
        input: Tensor,
        h_0: Tensor,
        weights: Sequence[Tensor],
        batch_sizes: Tensor | None,
        keep: bool,
        modifiers: Modifiers = NONE,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

    @staticmethod
    def backward(
        problem: Problem,
        grad_output: Tensor | None,
        grad_h_n: Tensor | None,
        input: Tensor,
        h_0: Tensor,
        weights: Sequence[Tensor],
        batch_sizes: Tensor | None,
        output: Tensor,
        reserve: Tensor,
        needs: Sequence[bool],
        modifiers: Modifiers = NONE,
    ) -> list[Tensor | None]: ...


def _keeps(backend: backends.Backend) -> TypeGuard[_Keeping]:
    return hasattr(backend, "reserve_numel")


def _forward(
    input: Tensor, h_0: Tensor, weights: list[Tensor], batch_sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    modifiers, (*facts, keep) = Modifiers(*rest[:4]), rest[4:]
    if batch_sizes is not None and input.dim() == 3:
        rows = sequences.enter(input, batch_sizes, False)
        own = to_rows(modifiers, rows)
        output, h_n, _ = _forward(rows.data, rows.sort_state(h_0), weights, rows.batch_sizes, *own, *facts, False)
        return cast(Tensor, rows.restore(output)), rows.unsort_state(h_n), input.new_empty(0)
    problem = _problem(input, h_0, weights, batch_sizes, modifiers, tuple(facts), keep)
    backend = backends.choose(problem, facts[-1])
    if keep and _keeps(backend):
        return backend.forward(problem, input, h_0, weights, batch_sizes, True, modifiers)
    with torch.no_grad():
        output, h_n = backend.run(problem._replace(needs_grad=False), input, h_0, weights, batch_sizes, modifiers)
    return *own_results(output, h_n), input.new_empty(0)


def _fake_forward(
    input: Tensor, h_0: Tensor, weights: list[Tensor], batch_sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    modifiers, (*facts, keep) = Modifiers(*rest[:4]), rest[4:]
    output, h_n = fake_results(input, h_0, facts[0])
    reserve = 0
    if keep and not (batch_sizes is not None and input.dim() == 3):
        # Empty batches take another backend; a graph with symbolic sizes is traced for those that are not.
        problem = _problem_of_trace(input, h_0, weights, batch_sizes, modifiers, tuple(facts), keep)
        backend = backends.choose(problem, facts[-1])
        if _keeps(backend):
            reserve = backend.reserve_numel(problem, input, h_0, weights, batch_sizes)
    return output, h_n, input.new_empty(reserve)


def _problem_of_trace(
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    modifiers: Modifiers,
    facts: _Facts,
    keep: bool,
) -> Problem:
    ones = input.new_empty((1,) * input.dim())
    return _problem(ones, h_0.new_empty((1, 1, 1)), weights, batch_sizes, modifiers, facts, keep)


def _backward(
    grad_output: Tensor,
    grad_h_n: Tensor,
    input: Tensor,
    h_0: Tensor,
    weights: list[Tensor],
    output: Tensor,
    reserve: Tensor,
    batch_sizes: Tensor | None,
    *rest: Any,
) -> list[Tensor]:
    modifiers, (*facts, needs) = Modifiers(*rest[:4]), rest[4:]
    if batch_sizes is not None and input.dim() == 3:
        return _padded_backward(grad_output, grad_h_n, input, h_0, weights, batch_sizes, modifiers, facts, needs)
    problem = _problem(input, h_0, weights, batch_sizes, modifiers, tuple(facts), True)
    backend = backends.choose(problem, facts[-1])
    if _keeps(backend):
        found = backend.backward(
            problem, grad_output, grad_h_n, input, h_0, weights, batch_sizes, output, reserve, needs, modifiers
        )
    else:
        with torch.no_grad():
            given = (input, h_0, weights, batch_sizes, needs, modifiers)
            found = reference.gradients(problem, grad_output, grad_h_n, *given)
    return [
        tensor.new_empty(0) if not need else torch.zeros_like(tensor) if grad is None else grad.contiguous()
        for tensor, grad, need in zip((input, h_0, *weights, *modifiers.present), found, needs, strict=True)
    ]


def _padded_backward(
    grad_output: Tensor,
    grad_h_n: Tensor,
    input: Tensor,
    h_0: Tensor,
    weights: list[Tensor],
    lengths: Tensor,
    modifiers: Modifiers,
    facts: list[Any],
    needs: list[bool],
) -> list[Tensor]:
    """The gradients of a padded batch; the forward pass is computed again, since how much it keeps depends on the lengths."""
    rows = sequences.enter(input, lengths, False)
    state = rows.sort_state(h_0)
    own = to_rows(modifiers, rows)
    output, _, reserve = _forward(rows.data, state, weights, rows.batch_sizes, *own, *facts, True)
    grad_rows, grad_state = sequences.enter(grad_output, lengths, False).data, rows.sort_state(grad_h_n)
    given = (rows.data, state, weights, output, reserve, rows.batch_sizes, *own)
    found = _backward(grad_rows, grad_state, *given, *facts, needs)
    found[0] = cast(Tensor, rows.restore(found[0])) if needs[0] else found[0]
    found[1] = rows.unsort_state(found[1]) if needs[1] else found[1]
    place = 2 + len(weights)
    if modifiers.decay is not None and needs[place]:
        found[place] = torch.stack([cast(Tensor, rows.restore(grad)) for grad in found[place]])
    return found


def _fake_backward(
    grad_output: Tensor,
    grad_h_n: Tensor,
    input: Tensor,
    h_0: Tensor,
    weights: list[Tensor],
    output: Tensor,
    reserve: Tensor,
    batch_sizes: Tensor | None,
    *rest: Any,
) -> list[Tensor]:
    modifiers, needs = Modifiers(*rest[:4]), rest[-1]
    return [
        torch.empty_like(tensor, memory_format=torch.contiguous_format) if need else tensor.new_empty(0)
        for tensor, need in zip((input, h_0, *weights, *modifiers.present), needs, strict=True)
    ]


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    input, h_0, weights, batch_sizes, *rest = inputs
    modifiers, ctx.facts = Modifiers(*rest[:4]), rest[4:-1]
    ctx.count, ctx.ragged, ctx.modified = len(weights), batch_sizes is not None, modifiers.names
    tensors = (input, h_0, *weights, *modifiers.present)
    ctx.needs = [tensor.requires_grad for tensor in tensors]
    ctx.save_for_backward(output[0], output[2], *tensors, *((batch_sizes,) if ctx.ragged else ()))


def _autograd_backward(ctx: Any, grad_output: Tensor, grad_h_n: Tensor, _: Tensor) -> tuple[Any, ...]:
    output, reserve, *tensors = ctx.saved_tensors
    end = 2 + ctx.count
    input, h_0, weights = tensors[0], tensors[1], tensors[2:end]
    modifiers = Modifiers.of(ctx.modified, tensors[end : end + len(ctx.modified)])
    batch_sizes = tensors[-1] if ctx.ragged else None
    found = torch.ops.anygru.gru_backward(
        grad_output, grad_h_n, input, h_0, weights, output, reserve, batch_sizes, *modifiers, *ctx.facts, ctx.needs
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
