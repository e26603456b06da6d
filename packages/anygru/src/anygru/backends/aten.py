"""torch's own GRU on the CPU: where the native kernels are missing, and where torch multiplies half precision faster."""

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import _VF, Tensor

from ..errors import ArgumentError
from ..facts.formula import Formula
from ..facts.problem import Call, Options, Problem, plain_problem
from ..facts.weights import Layout, Weights
from . import cpu_calls, grouped, mirrored, products
from .backend import Backend

CASTABLE = frozenset((torch.float32, torch.bfloat16, torch.float16))
"""The dtypes that autocast changes."""
_MODIFIERS = {
    "decay": "resets and no decay of the state",
    "offset": "resets and no decay of the state",
    "candidate": "recurrent dropout",
    "zoneout": "zoneout",
    "mask": "recurrent dropout",
}


def refuse(problem: Problem) -> str | None:
    if problem.device_type != "cpu":
        return f"it computes on the CPU, and the input is on {problem.device_type}"
    if problem.rounds_rows:
        return "torch's own GRU does not round rows to 16 bits, as int8 weights ask for on the CPU"
    return refuse_formula(problem)


def refuse_formula(problem: Problem) -> str | None:
    """Why torch's own GRU cannot compute a problem, on any device; None if it can."""
    if problem.formula.reset != "after":
        return "torch's own GRU knows reset='after' only"
    if not problem.formula.standard():
        return "torch's own GRU knows sigmoid and tanh only"
    if problem.empty:
        return "torch's own GRU refuses empty batches and sequences"
    if problem.modified:
        return f"torch's own GRU knows no {_MODIFIERS[problem.modified[0]]}"
    if problem.layout.norm:
        return "torch's own GRU knows no layer norm"
    if problem.formula.gradient_clipping is not None and problem.needs_grad:
        return "torch's own GRU knows no clipping of gradients inside the recurrence"
    if problem.transformed:
        return "torch's own GRU does not run under torch.func transforms, dispatch modes or tensor subclasses"
    return None


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """As `reference.run`; under autocast if products are in another dtype than the tensors."""
    if problem.products in (None, problem.dtype):
        return _run(problem, call)
    with torch.autocast("cpu", problem.products, cache_enabled=torch.is_autocast_cache_enabled()):
        return _run(problem, call)


def direct_of_halves(
    input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor], options: Options
) -> tuple[Tensor, Tensor] | None:
    """A training call [T, B, I] in half precision that is faster here, without checks that repeat step after step.

    None if anything about the call is unusual or wrong; the general path, which gives the same bits, computes it or raises.
    """
    tensors = (input, *weights) if h_0 is None else (input, *weights, h_0)
    if options.backend is not None or options.formula.gradient_clipping is not None or not cpu_calls.are_plain(tensors):
        return None
    shapes = tuple([one.shape for one in tensors])
    problem = fitting("cpu", True, options.formula, options.layer, input.dtype, shapes, len(weights))
    if problem is None or not products.are_faster_in_torch(input.dtype, *_sizes(shapes[: len(weights) + 1]), True):
        return None
    if h_0 is None:
        h_0 = input.new_zeros((problem.layout.states(), shapes[0][1], shapes[2][1]))
    return _run(problem, Call(input, h_0, weights, None))


@lru_cache(maxsize=1024)
def _sizes(shapes: tuple[torch.Size, ...]) -> tuple[float, float, float]:
    """The numbers for the rule, for an input and weights of these shapes."""
    input, *weights = [torch.empty(shape, device="meta") for shape in shapes]
    return products.sizes(input, None, weights)


@lru_cache(maxsize=1024)
def fitting(
    device_type: str,
    needs_grad: bool,
    formula: Formula,
    layer: Layout,
    dtype: torch.dtype,
    shapes: tuple[torch.Size, ...],
    count: int,
) -> Problem | None:
    """The problem of a dense call; None where the shapes do not fit, or torch's own GRU refuses.

    Args:
        layer: the layout of one layer.
        shapes: of the input [T, B, I], of `count` weights and perhaps of h_0.
    """
    problem = plain_problem(formula, layer, count, dtype)._replace(device_type=device_type, needs_grad=needs_grad)
    input, *weights = [torch.empty(shape, dtype=dtype, device="meta") for shape in shapes[: count + 1]]
    layout = problem.layout
    if count != max(layout.num_layers, 1) * layout.per_layer() or input.dim() != 3 or 0 in input.shape:
        return None
    try:
        Weights(weights, layout).check(input.shape[-1], dtype, input.device)
    except ArgumentError:
        return None
    hidden = weights[1].shape[-1] * layout.groups
    if any(shape != (layout.states(), input.shape[1], hidden) for shape in shapes[count + 1 :]):
        return None
    return problem if layout.groups == 1 and refuse_formula(problem) is None else None


def _run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    layout = problem.layout
    if layout.groups > 1:
        return grouped.run(run, problem, call)
    if layout.reverse:
        return mirrored.run(_run, problem, call)
    return run_plain(problem, call, False)


def run_plain(problem: Problem, call: Call, training: bool) -> tuple[Tensor, Tensor]:
    """A call on any device, without groups, and not in reverse.

    Args:
        training: cuDNN keeps the tensors of its backward pass; there is no dropout that this would switch on.
    """
    layout = problem.layout
    input, h_0, weights, batch_sizes, _ = call
    options = (list(weights), layout.bias, layout.num_layers, 0.0, training, layout.bidirectional)
    if batch_sizes is None:
        return _VF.gru(input, h_0, *options, False)
    if problem.recorded:
        return _VF.gru(input, batch_sizes, h_0, *options)
    running = int(batch_sizes[0])  # torch takes no sequences without a step: keep them aside
    active = h_0 if running == h_0.shape[1] else h_0[:, :running].contiguous()
    output, h_n = _VF.gru(input, batch_sizes, active, *options)
    return output, h_n if running == h_0.shape[1] else torch.cat((h_n, h_0[:, running:]), 1)


BACKEND = Backend("aten", refuse, run)
