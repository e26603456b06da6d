"""The backward pass of the native kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .cpu_calls import address, forward, native, plain
from .problem import Problem

FEW_ROWS = 4
"""Up to so many rows (steps times sequences) the native module computes the sums over them, too."""


class Backward:
    """The backward pass of one call: the recurrence in the kernel, the sums over all steps as torch's matrix products.

    With few rows such a product would be all overhead, and the native module computes the sums as well.
    """

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
        self.weights = [plain(weight) for weight in weights]
        self.batch_sizes = batch_sizes
        self.needs = needs
        self.h_0 = plain(h_0)
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
        self.few = 0 < self.rows <= FEW_ROWS
        flat = input.reshape(self.rows, input.shape[-1])
        flat = plain(flat) if self.few else flat
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
                wants_input = layer > 0 or needs[0]
                if self.few:
                    grad = self._few(layer, direction, gates[direction], previous[direction], grads, wants_input, grad)
                    continue
                self._weight_gradients(layer, direction, gates[direction], previous[direction], grads)
                if wants_input:
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
            None if self.batch_sizes is None else address(self.batch_sizes, torch.int64),
            None if grad_output is None else address(grad_output, dtype),
            batch * self.features,
            self.features,
            None if grad_h_n is None else address(grad_h_n, dtype),
            address(output, dtype),
            batch * self.features,
            self.features,
            address(states, dtype),
            address(kept, dtype),
            [address(weight, dtype) for weight in recurrent],
            address(gates, dtype),
            address(previous, dtype),
            address(grad_h_0, dtype),
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
            forward(cell, input, previous, weights, None, output, h_n, kept[direction].view(-1))
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

    def _few(
        self,
        layer: int,
        direction: int,
        gates: Tensor,
        previous: Tensor,
        grads: list[Tensor | None],
        wants_input: bool,
        so_far: Tensor | None,
    ) -> Tensor | None:
        """Puts the gradients of one direction's weights into their places and returns the input's, in one native call."""
        problem, each = self.problem, self.problem.tensors_per_direction
        first = (layer * problem.directions + direction) * each
        for place in range(first, first + each):
            grads[place] = torch.empty_like(self.weights[place]) if self.needs[2 + place] else None
        input, dtype = self.layer_inputs[layer], problem.dtype
        grad_input = so_far if so_far is not None or not wants_input else torch.empty_like(input)
        wanted = [grads[first + index] if index < each else None for index in range(4)]
        weight_ih, weight_hh, bias_ih, bias_hh, features = (
            None if grad is None else address(grad, dtype) for grad in (*wanted, grad_input)
        )
        before = problem.formula.reset == "before"
        native.gradients(
            dtype.itemsize,
            self.rows,
            input.shape[1],
            self.hidden,
            before,
            address(gates, dtype),
            address(previous, dtype),
            address(self.layer_kept[direction], dtype) if before else None,
            address(input, dtype),
            address(self.weights[first], dtype),
            weight_ih,
            weight_hh,
            bias_ih,
            bias_hh,
            features,
            so_far is not None,
        )
        return grad_input

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
