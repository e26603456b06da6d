"""The native kernels on the CPU: forward, backward, and packed weights for streams.

The kernels (`csrc/`, explained in docs/kernels.md) take addresses and sizes, so they neither compile nor link against torch.
They take float32 and float64; bfloat16 and float16 are converted to float32 and back. Where nothing else is allowed or pays than
products of float32, the native module itself converts a dense call in bfloat16, and widens the matrices as it reads them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Options, Problem, plain_problem
from . import aten, cpu_calls, memory, products, recorded
from .backend import Backend, Gradients
from .cpu_backward import BackwardPass
from .cpu_calls import native
from .cpu_cell import direct_cell
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
    if not problem.formula.named():
        return "it knows activations by their names, not functions"
    if problem.recorded:
        return "torch.jit.trace and the legacy ONNX exporter cannot record a native call"
    if problem.transformed:
        return "it does not run under torch.func transforms, dispatch modes or tensor subclasses"
    return None


def copies(input: Tensor, weights: Sequence[Tensor]) -> list[str]:
    """The tensors that each call copies before the kernels read them, and why, for `explain`."""
    reasons = {"input": cpu_calls.why_copied(input, rows=True)}
    reasons |= {f"weights[{index}]": cpu_calls.why_copied(weight) for index, weight in enumerate(weights)}
    return [f"{name}: {reason}" for name, reason in reasons.items() if reason is not None]


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """See `reference.run`."""
    return recorded.compute(BACKEND, problem, call)


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
    if native is None or not options.formula.named():
        return None
    halves = input.dtype in _HALF_DTYPES
    if halves and needs_grad:
        return None if modifiers is not NONE else aten.direct_of_halves(input, h_0, weights, options)
    if needs_grad and _keeps_much(input, weights):
        return None
    precision = products.precision_of(input, options.autocast)
    kind = cpu_calls.kind(options.formula, options.layer, precision)
    if halves:
        return None if modifiers is not NONE else _direct_of_halves(input, h_0, weights, kind)
    if modifiers is NONE:
        found = cpu_calls.native.dense(input, h_0, weights, kind, torch.get_num_threads(), needs_grad)
    else:
        found = cpu_calls.dense(input, h_0, weights, kind, needs_grad, modifiers)
    if found is None or not needs_grad:
        return found
    problem = plain_problem(options.formula, options.layer, len(weights), input.dtype, precision)
    if h_0 is None:
        h_0 = torch.zeros_like(found[1])
    if modifiers is not NONE:
        problem = problem._replace(modified=modifiers.names())
    return recorded.run(BACKEND, problem, Call(input, h_0, weights, None, modifiers), found)


def _direct_of_halves(input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor], kind: Any) -> Any:
    """`direct` in float32; None also if torch's kernel is faster."""
    if input.dim() != 3 or (
        not products.are_read_in_place(input.dtype, *input.shape[:2])
        and products.are_faster_in_torch(input.dtype, *products.sizes(input, None, weights))
    ):
        return None
    found: Any = native.dense(input, h_0, weights, kind, torch.get_num_threads(), False)
    if found is not None:
        return found
    wide = cpu_calls.widened(input, h_0, weights)
    found = None if wide is None else native.dense(*wide, kind, torch.get_num_threads(), False)
    return None if found is None else (found[0].to(input.dtype), found[1].to(input.dtype))


def _keeps_much(input: Tensor, weights: Sequence[Tensor]) -> bool:
    """Whether the reserve is so large that it comes from the pool, which the native module does not know."""
    if len(weights) < 2:  # an error that the general path names
        return False
    units = input.shape[:-1].numel() * weights[1].shape[-1:].numel()
    return 4 * units * input.dtype.itemsize >= memory.LEAST_BYTES


def reserve_numel(problem: Problem, call: Call) -> Any:
    """How many elements of the input's dtype `forward` keeps for `backward`; symbolic if the shapes are.

    Four values for each row and hidden unit (r, z, n and the candidate's share of the state), and the outputs of all
    layers except the last; with layer norm, also the six normalised products of each unit and four factors for each
    row. A half-precision call that computes in float32 keeps twice this number, and also the last layer's output.
    """
    input, hidden = call.input, call.h_0.shape[2]
    rows = input.shape[0] if call.batch_sizes is not None else input.shape[0] * input.shape[1]
    units = rows * hidden * problem.layout.directions()
    numel = units * (5 * problem.layout.num_layers - 1)
    if problem.layout.norm:
        numel += rows * problem.layout.states() * (6 * hidden + 4 * problem.layout.groups)
    return 2 * (numel + units) if problem.dtype in _HALF_DTYPES else numel


def forward(problem: Problem, call: Call, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Output and h_n as `reference.run`, and the reserve for `backward` (empty unless keep): a flat tensor of the
    input's dtype."""
    if problem.dtype in _HALF_DTYPES:
        return _forward_of_halves(problem, call, keep)
    input, h_0, weights, batch_sizes, modifiers = call
    if batch_sizes is None and not (keep and _keeps_much(input, weights)):
        found = cpu_calls.dense(input, h_0, weights, cpu_calls.kind_of(problem), keep, modifiers)
        if found is not None:
            return found if keep else (*found, input.new_empty(0))
    output = input.new_empty((*input.shape[:-1], h_0.shape[2] * problem.layout.directions()))
    h_n = h_0.new_empty(h_0.shape)
    reserve = memory.empty(input, reserve_numel(problem, call)) if keep else None
    cpu_calls.forward(problem, call, (output, h_n, reserve))
    return output, h_n, input.new_empty(0) if reserve is None else reserve


def _forward_of_halves(problem: Problem, call: Call, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
    """`forward`, computed in float32; the reserve holds float32, and the exact output at its end."""
    dtype, single, wide = problem.dtype, problem._replace(dtype=torch.float32), call.to(torch.float32)
    if not keep:
        output, h_n, _ = forward(single, wide, False)
        return output.to(dtype), h_n.to(dtype), call.input.new_empty(0)
    reserve = wide.input.new_empty(reserve_numel(problem, call) // 2)
    kept = reserve[: reserve_numel(single, wide)]
    output = reserve[kept.numel() :].view((*call.input.shape[:-1], call.h_0.shape[2] * problem.layout.directions()))
    h_n = wide.h_0.new_empty(call.h_0.shape)
    cpu_calls.forward(single, wide, (output, h_n, kept))
    return output.to(dtype), h_n.to(dtype), reserve.view(dtype)


def backward(
    problem: Problem, call: Call, kept: tuple[Tensor, Tensor], grads: Gradients, needs: Sequence[bool]
) -> list[Tensor | None]:
    """Gradients for each of `call.tensors`; None where `needs` has False.

    Args:
        kept: the output and the reserve that `forward` returned.
        grads: the gradients of the output and h_n that arrived; None: zero.
    """
    if problem.dtype in _HALF_DTYPES:
        return _backward_of_halves(problem, call, kept, grads, needs)
    end = 2 + len(call.weights)
    one = problem.layout.states() == problem.layout.groups == 1
    if one and call.batch_sizes is None and not any(needs[end:]):
        # One native call if possible: several would spend much of a small call's time between them.
        whole = _backward_of_layer(problem, call, kept, grads, needs[:end])
        copies = None if whole is not None else cpu_calls.copied((call.input, call.h_0, *call.weights))
        if copies is not None:
            call = call._replace(input=copies[0], h_0=copies[1], weights=copies[2:])
            whole = _backward_of_layer(problem, call, kept, grads, needs[:end])
        if whole is not None:
            return [*whole, *(None for _ in needs[end:])]
    return BackwardPass(problem, call, kept, needs).compute(*grads)


def _backward_of_layer(
    problem: Problem, call: Call, kept: tuple[Tensor, Tensor], grads: Gradients, needs: Sequence[bool]
) -> list[Tensor | None] | None:
    """The native module's gradients of one layer in one direction; None if it declines."""
    modifiers = cpu_calls.plain_modifiers(call.modifiers)  # alive until the kernel is done
    grad_output, grad_h_n = grads
    return native.backward_of_layer(
        {
            "kind": cpu_calls.kind_of(problem),
            "grad_output": None if grad_output is None else grad_output.contiguous(),
            "grad_h_n": None if grad_h_n is None else grad_h_n.contiguous(),
            "input": call.input,
            "h_0": call.h_0,
            "weights": call.weights,
            "output": kept[0],
            "reserve": kept[1],
            "needs": needs,
            "gives_gates": False,
            "clipping": problem.formula.gradient_clipping,
            **cpu_calls.describe(modifiers, problem.dtype),
            "threads": torch.get_num_threads(),
        }
    )


def _backward_of_halves(
    problem: Problem, call: Call, kept: tuple[Tensor, Tensor], grads: Gradients, needs: Sequence[bool]
) -> list[Tensor | None]:
    """`backward` for `_forward_of_halves`."""
    single, wide, reserve = problem._replace(dtype=torch.float32), call.to(torch.float32), kept[1].view(torch.float32)
    numel = reserve_numel(single, wide)
    exact = reserve[numel:].view(kept[0].shape)
    grad_output, grad_h_n = (None if grad is None else grad.float() for grad in grads)
    found = backward(single, wide, (exact, reserve[:numel]), (grad_output, grad_h_n), needs)
    return [None if grad is None else grad.to(problem.dtype) for grad in found]


BACKEND = Backend(
    "cpu", refuse, run, "cpu", direct, direct_cell, reserve_numel, forward, backward, prepare=Prepared, copies=copies
)
