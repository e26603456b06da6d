"""The native kernels on the CPU: forward, backward, and what a stream keeps packed.

The kernels (`csrc/`, explained in docs/kernels.md) take addresses and sizes, so they neither compile nor link against torch.
float32 and float64 go to them as they are; bfloat16 and float16 are converted, and computed in float32.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from . import cpu_calls, reference
from .cpu_backward import Backward
from .cpu_calls import address, native
from .problem import Options, Problem

_DTYPES = (torch.float32, torch.float64)
_HALF_DTYPES = (torch.bfloat16, torch.float16)

_outputs_only = False


@contextmanager
def keep_outputs_only(enabled: bool = True) -> Iterator[None]:
    """Inside this context forward stores only outputs, and backward computes the gates again: less memory, more time.

    A row of a layer then costs H values instead of 5 H, and backward one more product of the size of forward's. The setting is
    read when the forward pass runs, and it is one for the process. bfloat16 and float16 keep their gates all the same.
    """
    global _outputs_only
    before, _outputs_only = _outputs_only, enabled
    try:
        yield
    finally:
        _outputs_only = before


def refuse(problem: Problem) -> str | None:
    if problem.device_type != "cpu":
        return f"it computes on the CPU, and the input is on {problem.device_type}"
    if native is None:
        return (
            f"the native module of this installation cannot be loaded ({cpu_calls.missing}); "
            "install anygru with a C++ compiler"
        )
    if problem.dtype not in _DTYPES and problem.dtype not in _HALF_DTYPES:
        return f"it computes float32, float64, bfloat16 and float16, and the input is {problem.dtype}"
    if not problem.formula.standard:
        return "it knows the activations sigmoid and tanh only"
    if problem.transformed:
        return "it does not run under torch.func transforms, dispatch modes or tensor subclasses"
    return None


def run(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> tuple[Tensor, Tensor]:
    """As `reference.run`."""
    if problem.needs_grad:
        recorded: tuple[Tensor, Tensor] = _Recurrence.apply(problem, batch_sizes, input, h_0, *weights)  # type: ignore[no-untyped-call]
        return recorded
    if problem.dtype in _HALF_DTYPES:
        output, h_n, _ = forward(problem, input, h_0, weights, batch_sizes, False)
        return output, h_n
    output = input.new_empty((*input.shape[:-1], h_0.shape[2] * problem.layout.directions))
    h_n = torch.empty_like(h_0, memory_format=torch.contiguous_format)
    cpu_calls.forward(problem, input, h_0, weights, batch_sizes, output, h_n, None)
    return output, h_n


def direct(
    input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor], options: Options
) -> tuple[Tensor, Tensor] | None:
    """A dense call [T, B, I] without gradients, checked and computed by the native module in one go.

    None where it is no such call, or where anything about it is unusual or wrong: then the general way computes it, or says
    what is wrong. The bits are those of the general way.
    """
    if native is None or not options.formula.standard:
        return None
    kind = cpu_calls.kind(options.bidirectional, options.bias, options.reverse, options.formula.reset)
    return native.dense(input, h_0, weights, kind, torch.get_num_threads(), False)


def direct_cell(input: Tensor, h: Tensor | None, weights: Sequence[Tensor], options: Options) -> Tensor | None:
    """One step [B, I] or [I] without gradients, as `direct`: the state after it."""
    if native is None or not options.formula.standard:
        return None
    kind = cpu_calls.kind(False, options.bias, False, options.formula.reset)
    return native.cell(input, h, weights, kind, torch.get_num_threads())


def reserve_numel(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> Any:
    """Elements, of the input's dtype, that `forward` keeps for `backward`; symbolic where the shapes are.

    Four values a row and hidden unit (r, z, n and the candidate's share of the state), and the outputs of all layers but the
    last. Computing in float32 for a half-wide dtype keeps twice as many, and the last layer's output too.
    """
    rows = input.shape[0] if batch_sizes is not None else input.shape[0] * input.shape[1]
    units = rows * h_0.shape[2] * problem.layout.directions
    numel = units * (5 * problem.layout.num_layers - 1)
    return 2 * (numel + units) if problem.dtype in _HALF_DTYPES else numel


def forward(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None, keep: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Output and h_n as `reference.run`, and what `backward` needs (empty unless keep): a flat tensor of the input's dtype."""
    dtype = problem.dtype
    features = h_0.shape[2] * problem.layout.directions
    shape = (*input.shape[:-1], features)
    if dtype not in _HALF_DTYPES:
        found = None
        if batch_sizes is None:
            found = native.dense(input, h_0, weights, cpu_calls.kind_of(problem), torch.get_num_threads(), keep)
        if found is not None:
            return found if keep else (*found, input.new_empty(0))
        output, h_n = input.new_empty(shape), h_0.new_empty(h_0.shape)
        if not keep:
            cpu_calls.forward(problem, input, h_0, weights, batch_sizes, output, h_n, None)
            return output, h_n, input.new_empty(0)
        reserve = input.new_empty(reserve_numel(problem, input, h_0, weights, batch_sizes))
        cpu_calls.forward(problem, input, h_0, weights, batch_sizes, output, h_n, reserve)
        return output, h_n, reserve
    single = problem._replace(dtype=torch.float32)
    inputs = (input.float(), h_0.float(), [weight.float() for weight in weights])
    if not keep:
        output, h_n, _ = forward(single, *inputs, batch_sizes, False)
        return output.to(dtype), h_n.to(dtype), input.new_empty(0)
    numel = reserve_numel(problem, input, h_0, weights, batch_sizes) // 2
    reserve = inputs[0].new_empty(numel)
    kept = reserve[: reserve_numel(single, *inputs, batch_sizes)]
    output = reserve[kept.numel() :].view(shape)
    h_n = inputs[1].new_empty(h_0.shape)
    cpu_calls.forward(single, *inputs, batch_sizes, output, h_n, kept)
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
) -> list[Tensor | None]:
    """Gradients for input, h_0 and each weight, in that order; None where `needs` has False.

    Args:
        grad_output, grad_h_n: the gradients that arrived, shaped as the results; None: zero.
        output, reserve: what `forward` returned.
        needs: which of (input, h_0, *weights) want a gradient.
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
        found = backward(single, grad_output, grad_h_n, *inputs, batch_sizes, exact, kept[:numel], needs)
        return [None if grad is None else grad.to(dtype) for grad in found]
    if batch_sizes is None:
        # Few rows: one native call, since several would spend most of their time between them.
        few = native.backward_of_few(
            {
                "kind": cpu_calls.kind_of(problem),
                "grad_output": None if grad_output is None else grad_output.contiguous(),
                "grad_h_n": grad_h_n,
                "input": input,
                "h_0": h_0,
                "weights": weights,
                "output": output,
                "reserve": reserve,
                "needs": needs,
                "threads": torch.get_num_threads(),
            }
        )
        if few is not None:
            return few
    return Backward(problem, input, h_0, weights, batch_sizes, output, reserve, needs).compute(grad_output, grad_h_n)


def _forward_outputs_only(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """As `forward`, keeping [L - 1, rows, D * H]: the outputs of all layers but the last."""
    layout = problem.layout
    shape = (*input.shape[:-1], h_0.shape[2] * layout.directions)
    reserve = input.new_empty((layout.num_layers - 1, *shape))
    h_n, output = h_0.new_empty(h_0.shape), input.new_empty(shape)
    single = problem._replace(layout=layout._replace(num_layers=1))
    for layer, own in enumerate((*reserve, output)):
        states = layout.states_of_layer(layer)
        own_weights = weights[layout.of_layer(layer)]
        cpu_calls.forward(single, input, h_0[states], own_weights, batch_sizes, own, h_n[states], None)
        input = own
    return output, h_n, reserve.view(-1)


class Prepared:
    """A layer's weights in the order in which the kernels read them, for calls that follow one another.

    Args:
        problem: as for `run`; float32 or float64, no gradient.
        weights: as for `run`. They are copied: later changes to them do not show.
    """

    def __init__(self, problem: Problem, weights: Sequence[Tensor]) -> None:
        self._problem = problem
        self._packed = native.pack(
            {
                "itemsize": problem.dtype.itemsize,
                "kind": cpu_calls.kind_of(problem),
                "layers": problem.layout.num_layers,
                "steps": 0,
                "batch": 0,
                "input_size": weights[0].shape[1],
                "hidden": weights[1].shape[1],
                "weights": [address(weight, problem.dtype) for weight in weights],
            }
        )

    def advance(self, input: Tensor, state: Tensor, many: bool, batched: bool) -> Tensor | None:
        """The output for the next step of a stream, or for many, with `state` [L, B, H] going on in place.

        input: [T, B, I]; no T axis if `many` is False, no B axis if `batched` is False. None if a tensor is not plain or does
        not fit.
        """
        return native.advance(self._packed, input, state, many, batched, torch.get_num_threads())

    def run(self, input: Tensor, h_0: Tensor) -> tuple[Tensor, Tensor]:
        """As `run`, for dense input [T, B, I]; the same bits."""
        problem = self._problem
        output = input.new_empty((*input.shape[:-1], h_0.shape[2] * problem.layout.directions))
        h_n = h_0.new_empty(h_0.shape)
        cpu_calls.forward(problem, input, h_0, self._packed, None, output, h_n, None)
        return output, h_n


class _Recurrence(torch.autograd.Function):
    """The kernels as one node of autograd."""

    @staticmethod
    def forward(
        ctx: Any, problem: Problem, batch_sizes: Tensor | None, input: Tensor, h_0: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        if _outputs_only and problem.dtype in _DTYPES:
            output, h_n, reserve = _forward_outputs_only(problem, input, h_0, weights, batch_sizes)
        else:
            output, h_n, reserve = forward(problem, input, h_0, weights, batch_sizes, True)
        ctx.problem = problem
        ctx.batch_sizes = batch_sizes
        ctx.save_for_backward(input, h_0, output, reserve, *weights)
        ctx.set_materialize_grads(False)
        return output, h_n

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        input, h_0, output, reserve, *weights = ctx.saved_tensors
        problem, batch_sizes, needs = ctx.problem, ctx.batch_sizes, ctx.needs_input_grad[2:]
        grad_output, grad_h_n = grads
        if torch.is_grad_enabled():  # somebody will differentiate these gradients again
            grad_output = torch.zeros_like(output) if grad_output is None else grad_output
            grad_h_n = torch.zeros_like(h_0) if grad_h_n is None else grad_h_n
            found = reference.gradients(problem, grad_output, grad_h_n, input, h_0, weights, batch_sizes, needs)
        else:
            found = backward(problem, grad_output, grad_h_n, input, h_0, weights, batch_sizes, output, reserve, needs)
        return None, None, *found
