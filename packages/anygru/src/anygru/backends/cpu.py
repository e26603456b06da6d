"""The native kernels on the CPU: forward, backward, and packed weights for streams.

The kernels (`csrc/`, explained in docs/kernels.md) take addresses and sizes, so they neither compile nor link against torch.
They take float32 and float64; bfloat16 and float16 are converted to float32 and back.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Options, Problem, plain_problem
from . import cpu_calls, recorded
from .cpu_backward import Backward
from .cpu_calls import native
from .cpu_cell import direct_cell as direct_cell
from .cpu_prepared import Prepared as Prepared

_DTYPES = (torch.float32, torch.float64)
_HALF_DTYPES = (torch.bfloat16, torch.float16)


def refuse(problem: Problem) -> str | None:
    if problem.device_type != "cpu":
        return f"it computes on the CPU, and the input is on {problem.device_type}"
    missing = cpu_calls.without_kernels()
    if missing is not None:
        return missing
    if problem.dtype not in _DTYPES and problem.dtype not in _HALF_DTYPES:
        return f"it computes float32, float64, bfloat16 and float16, and the input is {problem.dtype}"
    if not problem.formula.standard:
        return "it knows the activations sigmoid and tanh only"
    if problem.recorded:
        return "torch.jit.trace and the legacy ONNX exporter cannot record a native call"
    if problem.transformed:
        return "it does not run under torch.func transforms, dispatch modes or tensor subclasses"
    return None


def run(
    problem: Problem,
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    modifiers: Modifiers = NONE,
) -> tuple[Tensor, Tensor]:
    """See `reference.run`."""
    if problem.needs_grad:
        tensors = (input, h_0, *weights, *modifiers.present)
        return recorded.run(_KERNELS, problem, batch_sizes, None, *tensors)
    output, h_n, _ = forward(problem, input, h_0, weights, batch_sizes, False, modifiers)
    return output, h_n


def direct(
    input: Tensor,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    options: Options,
    needs_grad: bool,
    modifiers: Modifiers = NONE,
) -> tuple[Tensor, Tensor] | None:
    """Fast path: the native module checks and computes a dense call [T, B, I] in one call.

    Returns None if anything about the call is unusual or wrong; the general path then computes it or raises. Both paths give
    bit-identical results.
    """
    if native is None or not options.formula.standard:
        return None
    kind = cpu_calls.kind(options.bidirectional, options.bias, options.reverse, options.norm, options.formula.reset)
    found = cpu_calls.dense(input, h_0, weights, kind, needs_grad, modifiers)
    if found is None or not needs_grad:
        return found  # type: ignore[no-any-return]
    layout = (options.bidirectional, options.bias, options.reverse, options.norm)
    problem = plain_problem(options.formula, layout, len(weights), input.dtype)
    if h_0 is None:
        h_0 = torch.zeros_like(found[1])
    if modifiers is not NONE:
        problem = problem._replace(modified=modifiers.names)
    return recorded.run(_KERNELS, problem, None, found, input, h_0, *weights, *modifiers.present)


def reserve_numel(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> Any:
    """How many elements of the input's dtype `forward` keeps for `backward`; symbolic if the shapes are.

    Four values a row and hidden unit (r, z, n and the candidate's share of the state), and the outputs of all layers but the
    last; with layer norm, the six normalised products of a unit and four factors a row. Computing in float32 for a half-wide
    dtype keeps twice as many, and the last layer's output too.
    """
    rows = input.shape[0] if batch_sizes is not None else input.shape[0] * input.shape[1]
    units = rows * h_0.shape[2] * problem.layout.directions
    numel = units * (5 * problem.layout.num_layers - 1)
    if problem.layout.norm:
        numel += rows * problem.layout.states * (6 * h_0.shape[2] + 4)
    return 2 * (numel + units) if problem.dtype in _HALF_DTYPES else numel


def forward(
    problem: Problem,
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    keep: bool,
    modifiers: Modifiers = NONE,
) -> tuple[Tensor, Tensor, Tensor]:
    """Output and h_n as `reference.run`, and what `backward` needs (empty unless keep): a flat tensor of the input's dtype."""
    dtype = problem.dtype
    features = h_0.shape[2] * problem.layout.directions
    shape = (*input.shape[:-1], features)
    if dtype not in _HALF_DTYPES:
        found = None
        if batch_sizes is None:
            found = cpu_calls.dense(input, h_0, weights, cpu_calls.kind_of(problem), keep, modifiers)
        if found is not None:
            return found if keep else (*found, input.new_empty(0))
        output, h_n = input.new_empty(shape), h_0.new_empty(h_0.shape)
        if not keep:
            cpu_calls.forward(problem, input, h_0, weights, batch_sizes, output, h_n, None, modifiers)
            return output, h_n, input.new_empty(0)
        reserve = input.new_empty(reserve_numel(problem, input, h_0, weights, batch_sizes))
        cpu_calls.forward(problem, input, h_0, weights, batch_sizes, output, h_n, reserve, modifiers)
        return output, h_n, reserve
    single = problem._replace(dtype=torch.float32)
    inputs = (input.float(), h_0.float(), [weight.float() for weight in weights])
    modifiers = modifiers.like(inputs[0])
    if not keep:
        output, h_n, _ = forward(single, *inputs, batch_sizes, False, modifiers)
        return output.to(dtype), h_n.to(dtype), input.new_empty(0)
    numel = reserve_numel(problem, input, h_0, weights, batch_sizes) // 2
    reserve = inputs[0].new_empty(numel)
    kept = reserve[: reserve_numel(single, *inputs, batch_sizes)]
    output = reserve[kept.numel() :].view(shape)
    h_n = inputs[1].new_empty(h_0.shape)
    cpu_calls.forward(single, *inputs, batch_sizes, output, h_n, kept, modifiers)
    return output.to(dtype), h_n.to(dtype), reserve.view(dtype)


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
) -> list[Tensor | None]:
    """Gradients for input, h_0, each weight and each modifier that is given, in that order; None where `needs` has False.

    Args:
        grad_output, grad_h_n: the gradients that arrived, shaped as the results; None: zero.
        output, reserve: what `forward` returned.
        needs: which of (input, h_0, *weights, *modifiers.present) want a gradient.
    """
    dtype = problem.dtype
    if dtype in _HALF_DTYPES:
        single = problem._replace(dtype=torch.float32)
        inputs = (input.float(), h_0.float(), [weight.float() for weight in weights])
        kept = reserve.view(torch.float32)
        numel = reserve_numel(single, *inputs, batch_sizes)
        exact = kept[numel:].view(output.shape)
        grad_output = None if grad_output is None else grad_output.float()
        grad_h_n = None if grad_h_n is None else grad_h_n.float()
        changes = modifiers.like(inputs[0])
        found = backward(single, grad_output, grad_h_n, *inputs, batch_sizes, exact, kept[:numel], needs, changes)
        return [None if grad is None else grad.to(dtype) for grad in found]
    end = 2 + len(weights)
    if batch_sizes is None and not any(needs[end:]):
        # One native call if possible: several would spend much of a small call's time between them.
        modifiers = cpu_calls.plain_modifiers(modifiers)
        whole = native.backward_of_layer(
            {
                "kind": cpu_calls.kind_of(problem),
                "grad_output": None if grad_output is None else grad_output.contiguous(),
                "grad_h_n": None if grad_h_n is None else grad_h_n.contiguous(),
                "input": input,
                "h_0": h_0,
                "weights": weights,
                "output": output,
                "reserve": reserve,
                "needs": needs[:end],
                "gives_gates": False,
                **cpu_calls.describe(modifiers, dtype),
                "threads": torch.get_num_threads(),
            }
        )
        if whole is not None:
            return [*whole, *(None for _ in needs[end:])]
    call = Backward(problem, input, h_0, weights, batch_sizes, output, reserve, needs, modifiers)
    return call.compute(grad_output, grad_h_n)


_KERNELS = recorded.Kernels(forward, backward)
