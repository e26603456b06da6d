"""The two passes of the `triton` backend: torch's products around the kernels of a layer."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..facts.problem import Call, Problem
from . import triton_alone, triton_plan, triton_spread
from .triton_pieces import Backward, Forward

_PHASES = {("forward", "after"): (2,), ("forward", "before"): (1, 2)}
_PHASES |= {("backward", "after"): (1, 4), ("backward", "before"): (1, 2, 4)}
"""The phases of a step, as `triton_spread` numbers them."""


class Pass:
    """One call: its sizes, and its tensors as the kernels read them.

    reserve: memory in which the forward pass keeps values for the backward pass, or None; see `triton.reserve_numel`.
    """

    def __init__(self, problem: Problem, call: Call, reserve: Tensor | None) -> None:
        input, h_0, weights, batch_sizes, modifiers = call
        self.layout = layout = problem.layout
        self.before = problem.formula.reset == "before"
        self.reset = problem.formula.reset
        self.input_shape, self.input = input.shape, _plain(input.reshape(-1, input.shape[-1]))
        self.h_0, self.weights, self.decay = _plain(h_0), weights, modifiers.decay
        self.modifiers = modifiers.names()
        self.rows, self.batch, self.hidden = self.input.shape[0], h_0.shape[1], h_0.shape[2]
        self.width = layout.directions() * self.hidden
        self.steps, self.starts = input.shape[0], None
        if batch_sizes is not None:
            self.steps = len(batch_sizes)
            self.starts = torch.nn.functional.pad(batch_sizes.cumsum(0), (1, 0)).to(input.device)
        self.device = triton_plan.device_of(input)
        self.kept, self.inner = None, []
        if reserve is not None:
            kept = layout.num_layers * self.rows * self.width * 4
            shape = (layout.num_layers, layout.directions(), self.rows, 4, self.hidden)
            self.kept = reserve[:kept].view(shape)
            self.inner = list(reserve[kept:].view(layout.num_layers - 1, self.rows, self.width))

    def forward(self) -> tuple[Tensor, Tensor]:
        # No view: autograd lets a caller change it in place.
        output = self.input.new_empty((*self.input_shape[:-1], self.width))
        rows, final = self.input, []
        for layer in range(self.layout.num_layers):
            if layer == self.layout.num_layers - 1:
                own = output.view(self.rows, self.width)
            else:
                own = self.inner[layer] if self.inner else output.new_empty((self.rows, self.width))
            final.append(self._forward(layer, rows, own))
            rows = own
        return output, torch.cat(final)

    def backward(
        self, grad_output: Tensor | None, grad_h_n: Tensor | None, output: Tensor, needs: Sequence[bool]
    ) -> list[Tensor | None]:
        """As `triton.backward`."""
        inputs = [self.input, *self.inner]
        outputs = [*self.inner, output.view(self.rows, self.width)]
        grad = None if grad_output is None else _plain(grad_output.reshape(self.rows, self.width))
        found: list[Tensor | None] = [None] * len(needs)
        grad_states: list[Tensor] = []
        grad_decays: list[Tensor] = []
        needs_decay = self.decay is not None and needs[2 + len(self.weights)]
        for layer in reversed(range(self.layout.num_layers)):
            states = self.layout.states_of_layer(layer)
            arriving = None if grad_h_n is None else grad_h_n[states]
            gates, previous, grad_state, grad_decay = self._backward(layer, outputs[layer], grad, arriving, needs_decay)
            grad_states.append(grad_state)
            grad_decays += [] if grad_decay is None else [grad_decay]
            grad = None
            for direction in range(self.layout.directions()):
                wanted = needs[2:][self.layout.of_direction(layer, direction)]
                own = self._gradients(layer, direction, inputs[layer], gates[direction], previous[direction], wanted)
                first = 2 + self.layout.of_direction(layer, direction).start
                found[first : first + len(own)] = own
                if layer > 0 or needs[0]:
                    grad = self._grad_input(layer, direction, gates[direction], grad)
        found[0] = None if grad is None else grad.view(self.input_shape)
        found[1] = torch.cat(grad_states[::-1]).to(output.dtype) if needs[1] else None
        if needs_decay:
            assert self.decay is not None
            shape = (self.decay.shape[0], self.rows, self.decay.shape[-1])
            place = 2 + len(self.weights) + self.modifiers.index("decay")
            found[place] = torch.cat(grad_decays[::-1]).sum_to_size(shape).view(self.decay.shape)
        return found

    def _forward(self, layer: int, rows: Tensor, output: Tensor) -> Tensor:
        """Fills the output; returns the last states [D, B, H]."""
        hidden, layout = self.hidden, self.layout
        own = [self.weights[layout.of_direction(layer, d)] for d in range(layout.directions())]
        weight_ih = own[0][0] if len(own) == 1 else torch.cat([weights[0] for weights in own])
        bias = inner_bias = None
        if layout.bias:
            biases = [(weights[2], weights[3]) for weights in own]
            inside = 0 if self.before else hidden  # reset="after" scales this bias by r
            outer = [torch.nn.functional.pad(b_hh[: 3 * hidden - inside], (0, inside)) for _, b_hh in biases]
            bias = torch.cat([b_ih + b for (b_ih, _), b in zip(biases, outer, strict=True)])
            inner_bias = None if self.before else torch.stack([b_hh[2 * hidden :] for _, b_hh in biases])
        gates = rows @ weight_ih.t() if bias is None else torch.addmm(bias, rows, weight_ih.t())
        h_0 = self.h_0[layout.states_of_layer(layer)]
        state = h_0.float() if h_0.dtype is not torch.float32 else h_0.clone()
        kept = None if self.kept is None else self.kept[layer]
        read = torch.empty_like(h_0) if self.before else None
        operands = Forward(
            gates, _stacked([weights[1] for weights in own]), inner_bias, h_0, output, kept, read, state,
            self.starts, *self._decay(layer),
        )  # fmt: skip
        self._launch("forward", operands)
        return state.to(output.dtype)

    def _backward(
        self, layer: int, output: Tensor, grad_output: Tensor | None, grad_h_n: Tensor | None, needs_decay: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Gradients of gates, the states that steps read, gradients of h_0 [D, B, H] and of the decay [D, N, H]."""
        layout, hidden = self.layout, self.hidden
        h_0 = self.h_0[layout.states_of_layer(layer)]
        grad_state = torch.zeros_like(h_0, dtype=torch.float32)
        if grad_h_n is not None:
            grad_state.copy_(grad_h_n)
        each = (layout.directions(), self.rows)
        gates = output.new_empty((*each, 3 if self.before else 4, hidden))
        previous = output.new_empty((*each, hidden))
        grad_decay = output.new_empty((*each, hidden)) if needs_decay else None
        recurrent = [self.weights[layout.of_direction(layer, d)][1] for d in range(layout.directions())]
        assert self.kept is not None
        operands = Backward(
            grad_output, _stacked(recurrent), h_0, output, self.kept[layer], gates, previous, grad_state, grad_decay,
            self.starts, *self._decay(layer),
        )  # fmt: skip
        self._launch("backward", operands)
        return gates, previous, grad_state, grad_decay

    def _decay(self, layer: int) -> tuple[Tensor | None, int, int, int | None]:
        """The factors of a layer and their strides, for states, rows and units."""
        if self.decay is None:
            return None, 0, 0, None
        factors = _plain(self.decay.reshape(self.decay.shape[0], self.rows, self.decay.shape[-1]))
        states, _, units = factors.shape
        if states > 1:
            factors = factors[self.layout.states_of_layer(layer)]
        return factors, self.rows * units if states > 1 else 0, units, 1 if units > 1 else None

    def _launch(self, name: str, operands: Forward | Backward) -> None:
        """Runs a kernel over all steps of a layer."""
        layout = self.layout
        options = self.device.options
        plan = triton_plan.plan(self.hidden, self.batch, layout.directions(), operands.output.itemsize, self.device)
        sizes = (self.steps, self.batch, self.width, self.hidden, self.rows)
        reverse = int(layout.reverse)
        if plan.alone:
            kernel = getattr(triton_alone, name)[plan.programs, layout.directions()]
            kernel(operands, *sizes, reverse, BEFORE=self.before, **plan.constants, **options)
            return
        kernel = getattr(triton_spread, name)
        phases = _PHASES[name, self.reset]
        constants = {"BEFORE": self.before, **plan.constants, **options}
        for direction in range(0, layout.directions(), plan.directions):
            grid = kernel[plan.programs, plan.directions]
            if operands.output.is_cuda:
                counters = torch.zeros(layout.directions(), dtype=torch.int32, device=operands.output.device)
                constants |= {"PHASES": sum(phases), "MEETS": True, "launch_cooperative_grid": True}
                grid(operands, counters, 0, self.steps, *sizes, direction, reverse, **constants)
                continue
            # The interpreter runs one program after another: they cannot synchronize, so each phase is a separate
            # launch.
            for order in range(self.steps) if name == "forward" else reversed(range(self.steps)):
                for phase in phases:
                    span = (order, order + 1)
                    grid(operands, None, *span, *sizes, direction, reverse, PHASES=phase, MEETS=False, **constants)

    def _gradients(
        self, layer: int, direction: int, input: Tensor, gates: Tensor, previous: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        """Gradients of one direction's weights, which are sums over the rows; None if it is not needed."""
        hidden = self.hidden
        of_input = gates.view(self.rows, -1)[:, -3 * hidden :]  # r, z, n
        of_state = gates.view(self.rows, -1)[:, : 3 * hidden]
        found: list[Tensor | None] = [None] * len(wanted)
        if wanted[0]:
            found[0] = of_input.t() @ input
        if wanted[1] and self.before:
            assert self.kept is not None
            read = self.kept[layer, direction, :, 3]
            two = of_state[:, : 2 * hidden].t() @ previous
            found[1] = torch.cat((two, of_state[:, 2 * hidden :].t() @ read))
        elif wanted[1]:
            found[1] = _rotated(of_state.t() @ previous, hidden)
        if len(wanted) > 2 and wanted[2]:
            found[2] = of_input.sum(0)
        if len(wanted) > 2 and wanted[3]:
            found[3] = of_state.sum(0) if self.before else _rotated(of_state.sum(0), hidden)
        return found

    def _grad_input(self, layer: int, direction: int, gates: Tensor, others: Tensor | None) -> Tensor:
        """The gradient of a layer's input, added to the sum of the earlier directions."""
        weight = self.weights[self.layout.of_direction(layer, direction)][0]
        of_input = gates.view(self.rows, -1)[:, -3 * self.hidden :]
        return of_input @ weight if others is None else torch.addmm(others, of_input, weight)


def _rotated(values: Tensor, hidden: int) -> Tensor:
    """Rows n, r, z in the order r, z, n."""
    return torch.cat((values[hidden:], values[:hidden]))


def _plain(tensor: Tensor) -> Tensor:
    """The tensor, or a contiguous copy without a pending negation."""
    return tensor.resolve_neg().contiguous()


def _stacked(weights: Sequence[Tensor]) -> Tensor:
    """[D, 3H, H]"""
    return _plain(weights[0].unsqueeze(0)) if len(weights) == 1 else torch.stack(list(weights))
