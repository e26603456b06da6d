"""The native kernels on the CPU: forward, backward, and what a stream keeps packed.

The kernels (`csrc/`, explained in docs/kernels.md) take addresses and sizes, so they neither compile nor link against torch.
float32 and float64 go to them as they are; bfloat16 and float16 are converted, and computed in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import reference
from .problem import Problem

_missing = ""
if TYPE_CHECKING:
    from .. import _native as native
else:
    try:
        from .. import _native as native
    except ImportError as error:  # no compiler when grus was installed, or a build for another Python
        native, _missing = None, str(error)

if native is not None:
    # A table of C functions that reads tensors faster than Python calls can; older versions of torch have none.
    native.set_tensor_types(getattr(Tensor, "__dlpack_c_exchange_api__", None), Tensor, torch.nn.Parameter)

_DTYPES = (torch.float32, torch.float64)
_HALF_DTYPES = (torch.bfloat16, torch.float16)

_outputs_only = False


@contextmanager
def keep_outputs_only(enabled: bool = True) -> Iterator[None]:
    """Forward passes inside keep no gates for backward, which computes them again from the outputs: less memory, more time.

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
        return f"the native module of this installation cannot be loaded ({_missing}); install grus with a C++ compiler"
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
        return _Recurrence.apply(problem, batch_sizes, input, h_0, *weights)
    if problem.dtype in _HALF_DTYPES:
        output, h_n, _ = forward(problem, input, h_0, weights, batch_sizes, False)
        return output, h_n
    output = input.new_empty((*input.shape[:-1], h_0.shape[2] * problem.directions))
    h_n = torch.empty_like(h_0, memory_format=torch.contiguous_format)
    _compute(problem, input, h_0, weights, batch_sizes, output, h_n, None)
    return output, h_n


def direct(
    input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor] | native.PackedWeights, options: Any
) -> tuple[Tensor, Tensor] | None:
    """A dense call [T, B, I] without gradients, checked and computed by the native module in one go.

    None where it is no such call, or where anything about it is unusual or wrong: then the general way computes it, or says
    what is wrong. The bits are those of the general way.
    """
    if native is None or not options.formula.standard:
        return None
    before = options.formula.reset == "before"
    return native.infer(
        input, h_0, weights, options.bidirectional, options.bias, before, torch.get_num_threads()
    )


def reserve_numel(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> Any:
    """Elements, of the input's dtype, that `forward` keeps for `backward`; symbolic where the shapes are.

    Four values a row and hidden unit (r, z, n and the candidate's share of the state), and the outputs of all layers but the
    last. Computing in float32 for a half-wide dtype keeps twice as many, and the last layer's output too.
    """
    rows = input.shape[0] if batch_sizes is not None else input.shape[0] * input.shape[1]
    units = rows * h_0.shape[2] * problem.directions
    numel = units * (5 * problem.num_layers - 1)
    return 2 * (numel + units) if problem.dtype in _HALF_DTYPES else numel


def forward(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None, keep: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Output and h_n as `reference.run`, and what `backward` needs (empty unless keep): a flat tensor of the input's dtype."""
    dtype = problem.dtype
    features = h_0.shape[2] * problem.directions
    shape = (*input.shape[:-1], features)
    if dtype not in _HALF_DTYPES:
        output, h_n = input.new_empty(shape), h_0.new_empty(h_0.shape)
        if not keep:
            _compute(problem, input, h_0, weights, batch_sizes, output, h_n, None)
            return output, h_n, input.new_empty(0)
        reserve = input.new_empty(reserve_numel(problem, input, h_0, weights, batch_sizes))
        _compute(problem, input, h_0, weights, batch_sizes, output, h_n, reserve)
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
    _compute(single, *inputs, batch_sizes, output, h_n, kept)
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

    Arguments:
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
    return _Backward(problem, input, h_0, weights, batch_sizes, output, reserve, needs).compute(grad_output, grad_h_n)


def _forward_outputs_only(
    problem: Problem, input: Tensor, h_0: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """As `forward`, keeping [L - 1, rows, D * H]: the outputs of all layers but the last."""
    directions, layers = problem.directions, problem.num_layers
    shape = (*input.shape[:-1], h_0.shape[2] * directions)
    reserve = input.new_empty((layers - 1, *shape))
    h_n, output = h_0.new_empty(h_0.shape), input.new_empty(shape)
    each = directions * problem.tensors_per_direction
    single = problem._replace(num_layers=1)
    for layer, own in enumerate((*reserve, output)):
        states = slice(layer * directions, (layer + 1) * directions)
        own_weights = weights[layer * each : (layer + 1) * each]
        _compute(single, input, h_0[states], own_weights, batch_sizes, own, h_n[states], None)
        input = own
    return output, h_n, reserve.view(-1)


class Prepared:
    """A layer's weights in the order in which the kernels read them, for calls that follow one another.

    Arguments:
        problem: as for `run`; float32 or float64, no gradient.
        weights: as for `run`. They are copied: later changes to them do not show.
    """

    def __init__(self, problem: Problem, weights: Sequence[Tensor]) -> None:
        self._problem = problem
        self._packed = native.pack(
            problem.dtype.itemsize,
            weights[0].shape[1],
            weights[1].shape[1],
            problem.num_layers,
            problem.bidirectional,
            problem.bias,
            problem.formula.reset == "before",
            [_address(weight, problem.dtype) for weight in weights],
        )

    def run(self, input: Tensor, h_0: Tensor) -> tuple[Tensor, Tensor]:
        """As `run`, for dense input [T, B, I]; the same bits."""
        problem = self._problem
        before = problem.formula.reset == "before"
        threads = torch.get_num_threads()
        found = native.infer(input, h_0, self._packed, problem.bidirectional, problem.bias, before, threads)
        if found is not None:
            return found
        output = input.new_empty((*input.shape[:-1], h_0.shape[2] * problem.directions))
        h_n = h_0.new_empty(h_0.shape)
        _compute(problem, input, h_0, self._packed, None, output, h_n, None)
        return output, h_n


def _address(tensor: Tensor, dtype: torch.dtype) -> tuple[int, int]:
    """Address and number of bytes of a contiguous tensor, as the native module takes it."""
    if tensor.dtype is not dtype or not tensor.is_cpu or not tensor.is_contiguous():
        raise RuntimeError(
            f"the kernel needs a contiguous CPU tensor of {dtype}, got {tensor.dtype} on {tensor.device}"
        )
    return tensor.data_ptr(), tensor.nbytes


def _compute(
    problem: Problem,
    input: Tensor,
    h_0: Tensor,
    weights: Any,
    batch_sizes: Tensor | None,
    output: Tensor,
    h_n: Tensor,
    reserve: Tensor | None,
) -> None:
    """Calls the native forward pass; weights: tensors, or what `native.pack` returned."""
    dtype = problem.dtype
    if isinstance(weights, (list, tuple)):
        try:
            addresses: Any = [_address(weight, dtype) for weight in weights]
        except RuntimeError:
            weights = [weight.contiguous() for weight in weights]  # alive until the kernel is done
            addresses = [_address(weight, dtype) for weight in weights]
    else:
        addresses = weights
    h_0 = h_0.contiguous()
    if batch_sizes is None:
        steps, batch, input_size = input.shape
        if not input.is_contiguous() and not input.transpose(0, 1).is_contiguous():
            input = input.contiguous()
        step_stride, row_stride, _ = input.stride()
        if input.dtype is not dtype or not input.is_cpu:
            raise RuntimeError(
                f"the kernel needs a contiguous CPU tensor of {dtype}, got {input.dtype} on {input.device}"
            )
        given = input.data_ptr(), input.nbytes
        sizes, output_step_stride = None, batch * output.shape[-1]
    else:
        input = input.contiguous()
        steps, batch, input_size = batch_sizes.shape[0], h_0.shape[1], input.shape[1]
        step_stride, row_stride, output_step_stride = 0, input_size, 0
        given = _address(input, dtype)
        sizes = _address(batch_sizes, torch.int64)
    native.forward(
        dtype.itemsize,
        steps,
        batch,
        input_size,
        h_0.shape[2],
        problem.num_layers,
        problem.bidirectional,
        problem.bias,
        problem.formula.reset == "before",
        sizes,
        given,
        step_stride,
        row_stride,
        _address(h_0, dtype),
        addresses,
        _address(output, dtype),
        output_step_stride,
        output.shape[-1],
        _address(h_n, dtype),
        None if reserve is None else _address(reserve, dtype),
        torch.get_num_threads(),
    )


class _Backward:
    """The backward pass of one call: the recurrence in the kernel, the sums over all steps as torch's matrix products."""

    def __init__(
        self,
        problem: Problem,
        input: Tensor,
        h_0: Tensor,
        weights: Sequence[Tensor],
        batch_sizes: Tensor | None,
        output: Tensor,
        reserve: Tensor,
        needs: Sequence[bool],
    ) -> None:
        self.problem = problem
        self.weights = [weight.contiguous() for weight in weights]
        self.batch_sizes = batch_sizes
        self.needs = needs
        self.h_0 = h_0.contiguous()
        self.hidden = h_0.shape[2]
        self.features = self.hidden * problem.directions
        self.rows = output.numel() // self.features
        self.steps = output.shape[0] if batch_sizes is None else batch_sizes.shape[0]
        kept = problem.num_layers * problem.directions * self.rows * 4 * self.hidden
        inner_numel = (problem.num_layers - 1) * self.rows * self.features
        self.kept = None
        if reserve.numel() != inner_numel or kept == 0:
            self.kept = reserve[:kept].view(problem.num_layers, problem.directions, self.rows, 4, self.hidden)
            reserve = reserve[kept:]
        inner = reserve.view(problem.num_layers - 1, self.rows, self.features)
        flat = input.reshape(self.rows, input.shape[-1])
        self.layer_inputs = [flat, *inner]
        self.layer_outputs = [*inner, output.reshape(self.rows, self.features)]
        self.input_shape = input.shape

    def compute(self, grad_output: Tensor | None, grad_h_n: Tensor | None) -> list[Tensor | None]:
        problem, needs = self.problem, self.needs
        grad_h_0 = torch.empty_like(self.h_0)
        grads: list[Tensor | None] = [None] * len(self.weights)
        grad = None if grad_output is None else grad_output.reshape(self.rows, self.features)
        grad_h_n = None if grad_h_n is None else grad_h_n.contiguous()
        for layer in range(problem.num_layers - 1, -1, -1):
            states = slice(layer * problem.directions, (layer + 1) * problem.directions)
            gates, previous = self._recurrence(
                layer, grad, None if grad_h_n is None else grad_h_n[states], grad_h_0[states]
            )
            grad = None
            for direction in range(problem.directions):
                self._weight_gradients(layer, direction, gates[direction], previous[direction], grads)
                if layer > 0 or needs[0]:
                    grad = self._input_gradient(layer, direction, gates[direction], grad)
        grad_input = None if grad is None else grad.view(self.input_shape)
        return [grad_input if needs[0] else None, grad_h_0 if needs[1] else None, *grads]

    def _recurrence(
        self, layer: int, grad_output: Tensor | None, grad_h_n: Tensor | None, grad_h_0: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients of the gates before their activations [D, N, 4H or 3H], and h before each step [D, N, H]."""
        problem, hidden, dtype = self.problem, self.hidden, self.problem.dtype
        before = problem.formula.reset == "before"
        output, h_0 = self.layer_outputs[layer], self.h_0
        gates = output.new_empty((problem.directions, self.rows, (3 if before else 4) * hidden))
        previous = output.new_empty((problem.directions, self.rows, hidden))
        states = h_0[layer * problem.directions : (layer + 1) * problem.directions]
        first, each = layer * problem.directions * problem.tensors_per_direction, problem.tensors_per_direction
        recurrent = [self.weights[first + direction * each + 1] for direction in range(problem.directions)]
        if grad_output is not None:
            grad_output = grad_output.contiguous()
        batch = h_0.shape[1]
        kept = self._recomputed(layer) if self.kept is None else self.kept[layer]
        self.layer_kept = kept
        native.backward(
            dtype.itemsize,
            self.steps,
            batch,
            hidden,
            problem.bidirectional,
            before,
            None if self.batch_sizes is None else _address(self.batch_sizes, torch.int64),
            None if grad_output is None else _address(grad_output, dtype),
            batch * self.features,
            self.features,
            None if grad_h_n is None else _address(grad_h_n, dtype),
            _address(output, dtype),
            batch * self.features,
            self.features,
            _address(states, dtype),
            _address(kept, dtype),
            [_address(weight, dtype) for weight in recurrent],
            _address(gates, dtype),
            _address(previous, dtype),
            _address(grad_h_0, dtype),
            torch.get_num_threads(),
        )
        return gates, previous

    def _recomputed(self, layer: int) -> Tensor:
        """The gates that the forward pass did not keep [D, N, 4, H]: all rows as one step, from the states that are known."""
        problem, directions = self.problem, self.problem.directions
        kept = self.h_0.new_empty((directions, self.rows, 4, self.hidden))
        cell = problem._replace(num_layers=1, bidirectional=False)
        input = self.layer_inputs[layer].unsqueeze(0)
        for direction in range(directions):
            place = layer * directions + direction
            each = problem.tensors_per_direction
            previous = self._previous_states(layer, direction).unsqueeze(0)
            output, h_n = torch.empty_like(previous), torch.empty_like(previous)
            weights = self.weights[place * each : (place + 1) * each]
            _compute(cell, input, previous, weights, None, output, h_n, kept[direction].view(-1))
        return kept

    def _previous_states(self, layer: int, direction: int) -> Tensor:
        """h before each row's step [N, H]: an earlier row of the output, or the initial state."""
        first = direction * self.hidden
        output = self.layer_outputs[layer][:, first : first + self.hidden]
        start = self.h_0[layer * self.problem.directions + direction]
        sizes = self.batch_sizes
        if sizes is None:
            sizes = torch.full((self.steps,), start.shape[0])
        offsets = sizes.cumsum(0) - sizes
        step = torch.repeat_interleave(torch.arange(self.steps), sizes)
        sequence = torch.arange(self.rows) - offsets[step]
        before = step - 1 if direction == 0 else step + 1
        inside = before.clamp(0, max(self.steps - 1, 0))
        started = (before == inside) & (sequence < sizes[inside])
        return torch.cat((output, start))[torch.where(started, offsets[inside], self.rows) + sequence]

    def _input_gates(self, gates: Tensor) -> Tensor:
        """The columns r, z, n as the input's product sees them."""
        return gates if self.problem.formula.reset == "before" else gates[:, self.hidden :]

    def _input_gradient(self, layer: int, direction: int, gates: Tensor, so_far: Tensor | None) -> Tensor:
        weight = self.weights[(layer * self.problem.directions + direction) * self.problem.tensors_per_direction]
        gates = self._input_gates(gates)
        return torch.mm(gates, weight) if so_far is None else so_far.addmm_(gates, weight)

    def _weight_gradients(
        self, layer: int, direction: int, gates: Tensor, previous: Tensor, grads: list[Tensor | None]
    ) -> None:
        """Puts the gradients of one direction's weights that are asked for into their places."""
        problem, hidden = self.problem, self.hidden
        place = (layer * problem.directions + direction) * problem.tensors_per_direction
        needs = self.needs[2 + place : 2 + place + problem.tensors_per_direction]
        before = problem.formula.reset == "before"
        if needs[0]:
            grads[place] = torch.mm(self._input_gates(gates).t(), self.layer_inputs[layer])
        if needs[1]:
            grads[place + 1] = grad = gates.new_empty((3 * hidden, hidden))
            if before:
                reset_state = self.layer_kept[direction, :, 3]
                torch.mm(gates[:, : 2 * hidden].t(), previous, out=grad[: 2 * hidden])
                torch.mm(gates[:, 2 * hidden :].t(), reset_state, out=grad[2 * hidden :])
            else:
                torch.mm(gates[:, hidden : 3 * hidden].t(), previous, out=grad[: 2 * hidden])
                torch.mm(gates[:, :hidden].t(), previous, out=grad[2 * hidden :])
        if any(needs[2:]):
            total = gates.sum(0)
            input_bias = total if before else total[hidden:]
            if needs[2]:
                grads[place + 2] = input_bias if before else input_bias.clone()
            if needs[3]:
                state_bias = total.clone() if before else torch.cat((total[hidden : 3 * hidden], total[:hidden]))
                grads[place + 3] = state_bias


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
    def backward(ctx: Any, *grads: Tensor | None) -> tuple:
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
