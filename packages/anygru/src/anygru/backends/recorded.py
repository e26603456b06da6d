"""The forward and the backward pass of a backend as one node of autograd, which can be differentiated again."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor

from ..facts import torch_private
from ..facts.problem import Call, Problem, are_batched
from ..facts.weights import Layout
from . import aten, reference
from .backend import Backend, Results


def run(backend: Backend, problem: Problem, call: Call, found: tuple[Tensor, Tensor, Tensor] | None = None) -> Results:
    """Output and h_n, connected by autograd to the call's tensors.

    found: the result of the forward pass, if it was computed before: no transform of torch.func is active then.
    """
    apply = _GRU.apply if found is None else _plain_apply
    results: Results = apply(backend, problem, call, found, *call.tensors())  # type: ignore[no-untyped-call]
    return results


def compute(backend: Backend, problem: Problem, call: Call) -> Results:
    """As `reference.run`, by a backend with `forward` and `backward`: as one node of autograd if a tensor needs gradients."""
    if problem.needs_grad:
        return run(backend, problem, call)
    assert backend.forward is not None
    output, h_n, _ = backend.forward(problem, call, False)
    return output, h_n


@lru_cache(maxsize=256)
def plan(layout: Layout, reset: str, needs: tuple[bool, ...], is_one_step: bool) -> tuple[Any, ...]:
    """How `keep` and `restore` split the tensors of a call: into the tensors that the backward pass of torch's own GRU
    reads, and the rest. Torch refuses an in-place change of the first group only.

    Args:
        needs: which of `call.tensors` need a gradient.

    Returns:
        Functions from all tensors to the first group, from all to the second, and from both, concatenated, to all; and
        whether h_0 is in the second group.
    """
    each, kinds = layout.per_layer(), layout.kinds()
    names = [kinds[place % len(kinds)] for place in range(layout.num_layers * each)]
    wanted = [name for name, need in zip(names, needs[2:], strict=False) if need]
    found = ["weight_ih" in wanted[: sum(needs[2 : 2 + each])], "weight_hh" in wanted]
    for place, name in enumerate(names):
        below = place // each * each
        from_below = needs[0] or (below > 0 and any(needs[1 : 2 + below]))
        if name == "weight_ih":
            found.append(from_below)
        elif name == "weight_hh":
            between_steps = not is_one_step or reset == "before" or needs[1]
            found.append(between_steps and any(needs[: 2 + below + each]))
        else:
            found.append(name.startswith("gain"))
    found += [True for _ in needs[len(found) :]]  # of modifiers
    read = [place for place, is_read in enumerate(found) if is_read]
    others = [place for place, is_read in enumerate(found) if not is_read]
    places = [*read, *others]
    order = itemgetter(*(places.index(place) for place in range(len(places))))
    return _getter(read), _getter(others), order, 1 in others


def _getter(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The elements in these places."""
    if len(places) > 1:
        return itemgetter(*places)
    start = places[0] if places else 0
    return itemgetter(slice(start, start + len(places)))


def keep(ctx: Any, results: tuple[Tensor, ...], tensors: Sequence[Any], planned: tuple[Any, ...]) -> None:
    """Save results and tensors of a call for `restore`; `planned`: see `plan`."""
    read, others, order, has_h_0 = planned
    rest = others(tensors)
    # Our kernels read h_0 where torch's do not.
    h_0 = tensors[1].clone() if has_h_0 and tensors[1] is not None else None
    ctx.kept = order, rest, versions(rest), h_0
    ctx.save_for_backward(*results, *read(tensors))


def versions(tensors: Sequence[Any]) -> list[int] | None:
    """The versions that `refuse_changed` compares; None for tensors of inference mode, which have no versions."""
    try:
        return [tensor._version for tensor in tensors if tensor is not None]
    except RuntimeError:
        return None


def refuse_changed(tensors: Sequence[Any], before: list[int] | None) -> None:
    """Raise RuntimeError if a tensor was changed in place since `versions` gave `before`."""
    if before not in (None, versions(tensors)):
        raise RuntimeError(
            "a tensor of the forward pass was changed in place, and second derivatives compute that pass again: change a "
            "copy, or take the derivatives before the change"
        )


def restore(ctx: Any, results: int, again: bool) -> tuple[Sequence[Tensor], list[Any]]:
    """The results (so many) and the tensors that `keep` was given; `again`: to compute the forward pass again.

    Raises:
        RuntimeError: it cannot be computed again, since a tensor has changed.
    """
    saved, (order, others, before, h_0) = ctx.saved_tensors, ctx.kept
    if again:
        refuse_changed(others, before)
    tensors = list(order((*saved[results:], *others)))
    if h_0 is not None and not again:
        tensors[1] = h_0
    return saved[:results], tensors


class _GRU(torch.autograd.Function):
    """Profilers show the name of this class."""

    @staticmethod
    def forward(
        ctx: Any,
        backend: Backend,
        problem: Problem,
        call: Call,
        found: tuple[Tensor, Tensor, Tensor] | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        if found is None:
            assert backend.forward is not None
            found = backend.forward(problem, call, True)
        output, h_n, reserve = found
        ctx.backend, ctx.problem, ctx.batch_sizes = backend, problem, call.batch_sizes
        steps = len(call.input if call.batch_sizes is None else call.batch_sizes)
        planned = plan(problem.layout, problem.formula.reset, ctx.needs_input_grad[4:], steps == 1)
        # The output is the caller's, who may change its memory out of autograd's sight: backward reads a copy of the states.
        keep(ctx, (output.clone(), reserve), tensors, planned)
        ctx.set_materialize_grads(False)
        return output, h_n

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        problem, needs = ctx.problem, ctx.needs_input_grad[4:]
        # Second derivatives and batched gradients need plain operations of torch, which compute the forward pass again.
        again = torch.is_grad_enabled() or are_batched(grads)
        (states, reserve), tensors = restore(ctx, 2, again)
        call = Call.of(problem, tensors, ctx.batch_sizes)
        grad_output, grad_h_n = grads
        if again:
            grad_output = torch.zeros_like(states) if grad_output is None else grad_output
            grad_h_n = torch.zeros_like(call.h_0) if grad_h_n is None else grad_h_n
            found = reference.gradients(
                problem, call, (grad_output, grad_h_n), _asked_for(ctx, needs), needs, _compute_again(problem, grads)
            )
        else:
            found = ctx.backend.backward(problem, call, (states, reserve), (grad_output, grad_h_n), needs)
        return None, None, None, None, *found


def _asked_for(node: Any, needs: Sequence[bool]) -> Sequence[bool]:
    """The tensors that get a gradient in the running backward pass: `torch.autograd.grad` asks for some only."""
    if torch_private.will_execute is None or torch_private.transform() is not None:
        return needs
    functions = [function for function, _ in node.next_functions]
    return [need and _will_run(function) for need, function in zip(needs, functions, strict=True)]


def _will_run(function: Any) -> bool:
    try:
        return torch_private.will_execute is None or bool(torch_private.will_execute(function))
    except RuntimeError:  # a leaf that `torch.autograd.grad` asks for, where torch refuses to answer
        return True


def _compute_again(problem: Problem, grads: Sequence[Tensor | None]) -> Callable[[Problem, Call], Results]:
    """The forward pass to differentiate twice: torch's own in C++ where it can be, which takes less time."""
    is_torchs = problem.products is None and aten.refuse(problem) is None and not are_batched(grads)
    return aten.run if is_torchs else reference.run


_plain_apply = torch_private.plain_apply(_GRU)
