"""The recurrence of few hidden units: one program takes some sequences from their first step to their last.

It keeps all recurrent weights, and the state never leaves it. See docs/kernels.md.
"""

import triton
import triton.language as tl

from .triton_pieces import (
    backward_of,
    decayed,
    forgotten,
    forward_of,
    grad_of_gates,
    next_state,
    of_units,
    read_rows,
    sigmoid,
)

COUNTS = ["steps", "batch", "rows", "reverse"]
"""Arguments that need no separate kernel."""


@triton.jit
def weights_of(weights, gate, hidden, BH: tl.constexpr, TRANSPOSED: tl.constexpr):
    """A gate's weights [BH, BH] from states to units; TRANSPOSED: from gradients of units to gradients of states."""
    first, second = tl.arange(0, BH)[:, None], tl.arange(0, BH)[None, :]
    mask = (first < hidden) & (second < hidden)
    own = weights + gate * hidden * hidden
    places = first * hidden + second if TRANSPOSED else second * hidden + first
    return tl.load(own + places, mask=mask, other=0.0)


@triton.jit
def inputs_of(op, order, steps, batch, width, hidden, reverse, b, units):
    """The input's share of the gates at a step, and the factors of the state before it, if there are any."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    gates = op.gates + rows[:, None] * (3 * width) + units[None, :]
    r = tl.load(gates, mask=mask, other=0.0)
    z = tl.load(gates + hidden, mask=mask, other=0.0)
    n = tl.load(gates + 2 * hidden, mask=mask, other=0.0)
    factor = r
    if op.decay is not None:
        factor = tl.load(factors[:, None] + of_units(units, op.decay_unit)[None, :], mask=mask, other=0.0)
    return r, z, n, factor


@triton.jit(do_not_specialize=COUNTS)
def forward(
    op, steps, batch, width, hidden, rows, reverse,
    BEFORE: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr, BH: tl.constexpr,
):  # fmt: skip
    """All steps of BM sequences and of one direction."""
    d = tl.program_id(1)
    op = forward_of(op, d, rows, batch, hidden)
    reverse = (reverse + d) > 0
    b, units = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BH)
    kind = op.output.dtype.element_ty
    own_r = weights_of(op.weights, 0, hidden, BH, False)
    own_z = weights_of(op.weights, 1, hidden, BH, False)
    own_n = weights_of(op.weights, 2, hidden, BH, False)
    inside = (b < batch)[:, None] & (units < hidden)[None, :]
    places = op.state + b.to(tl.int64)[:, None] * hidden + units[None, :]
    state = tl.load(places, mask=inside, other=0.0)
    bias = 0.0
    if op.bias is not None:
        bias = tl.load(op.bias + units, mask=units < hidden, other=0.0).to(tl.float32)[None, :]
    gate_r, gate_z, gate_n, factor = inputs_of(op, 0, steps, batch, width, hidden, reverse, b, units)
    for order in tl.range(0, steps, num_stages=1):
        # The inputs of the next step travel while this step computes.
        next_r, next_z, next_n, next_factor = inputs_of(op, order + 1, steps, batch, width, hidden, reverse, b, units)
        found, active, _, _ = read_rows(op, order, steps, batch, width, hidden, reverse, b)
        mask = active[:, None] & (units < hidden)[None, :]
        h = state if op.decay is None else decayed(state, factor.to(tl.float32))
        read = h.to(kind)
        gate_r = gate_r.to(tl.float32) + tl.dot(read, own_r, input_precision=PRECISION)
        gate_z = gate_z.to(tl.float32) + tl.dot(read, own_z, input_precision=PRECISION)
        if BEFORE:
            share = (sigmoid(gate_r) * h).to(kind)
            sum_n = tl.dot(share, own_n, input_precision=PRECISION)
        else:
            sum_n = tl.dot(read, own_n, input_precision=PRECISION) + bias
            share = sum_n.to(kind)
        new, r, z, n = next_state(gate_r, gate_z, gate_n.to(tl.float32), sum_n, h, BEFORE)
        if op.kept is not None:
            kept = op.kept + found[:, None] * (4 * hidden) + units[None, :]
            tl.store(kept, r.to(kind), mask=mask)
            tl.store(kept + hidden, z.to(kind), mask=mask)
            tl.store(kept + 2 * hidden, n.to(kind), mask=mask)
            tl.store(kept + 3 * hidden, share, mask=mask)
        tl.store(op.output + found[:, None] * width + units[None, :], new.to(kind), mask=mask)
        state = tl.where(mask, new, state)
        gate_r, gate_z, gate_n, factor = next_r, next_z, next_n, next_factor
    tl.store(places, state, mask=inside)


@triton.jit
def saved_of(op, order, steps, batch, width, hidden, reverse, b, units):
    """Values of a step that the forward pass kept: the output's gradient, r, z, n, the state's share of n, the last state."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    kept = op.kept + rows[:, None] * (4 * hidden) + units[None, :]
    r = tl.load(kept, mask=mask, other=0.0)
    z = tl.load(kept + hidden, mask=mask, other=0.0)
    n = tl.load(kept + 2 * hidden, mask=mask, other=0.0)
    share = tl.load(kept + 3 * hidden, mask=mask, other=0.0)
    h = tl.load(states[:, None] + units[None, :], mask=mask, other=0.0)
    grad = tl.zeros_like(h)
    if op.grad_output is not None:
        grad = tl.load(op.grad_output + rows[:, None] * width + units[None, :], mask=mask, other=0.0)
    return grad, r, z, n, share, h


@triton.jit
def gradients_of(grad, r, z, n, share, h, own_n, kind, BEFORE: tl.constexpr, PRECISION: tl.constexpr):
    """Gradients of a step: of the state's share of n, of r, z, n, and of the state without the products with these."""
    grad_z, grad_n = grad_of_gates(grad, z, n, h)
    if BEFORE:
        grad_read = tl.dot(grad_n.to(kind), own_n, input_precision=PRECISION)
        grad_r = grad_read * h
        grad_share, grad_h = grad_n, grad * z + grad_read * r
    else:
        grad_r = grad_n * share
        grad_share, grad_h = grad_n * r, grad * z
    return grad_share, grad_r * r * (1.0 - r), grad_z, grad_n, grad_h


@triton.jit(do_not_specialize=COUNTS)
def backward(
    op, steps, batch, width, hidden, rows, reverse,
    BEFORE: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr, BH: tl.constexpr,
):  # fmt: skip
    """All steps of BM sequences and of one direction, the last one first."""
    d = tl.program_id(1)
    GATES: tl.constexpr = 3 if BEFORE else 4
    op = backward_of(op, d, rows, batch, hidden, GATES)
    reverse = (reverse + d) > 0
    b, units = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BH)
    kind = op.output.dtype.element_ty
    own_r = weights_of(op.weights, 0, hidden, BH, True)
    own_z = weights_of(op.weights, 1, hidden, BH, True)
    own_n = weights_of(op.weights, 2, hidden, BH, True)
    inside = (b < batch)[:, None] & (units < hidden)[None, :]
    places = op.grad_state + b.to(tl.int64)[:, None] * hidden + units[None, :]
    grad = tl.load(places, mask=inside, other=0.0)
    own, r, z, n, share, h = saved_of(op, steps - 1, steps, batch, width, hidden, reverse, b, units)
    for back in tl.range(0, steps, num_stages=1):
        order = steps - 1 - back
        later = saved_of(op, order - 1, steps, batch, width, hidden, reverse, b, units)
        found, active, _, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
        mask = active[:, None] & (units < hidden)[None, :]
        raw = h.to(tl.float32)
        factor = 1.0
        if op.decay is not None:
            factors = factors[:, None] + of_units(units, op.decay_unit)[None, :]
            factor = tl.load(factors, mask=mask, other=1.0).to(tl.float32)
            h = decayed(raw, factor).to(kind)
        full = grad + own.to(tl.float32)
        grad_share, grad_r, grad_z, grad_n, before = gradients_of(
            full, r.to(tl.float32), z.to(tl.float32), n.to(tl.float32), share.to(tl.float32), h.to(tl.float32),
            own_n, kind, BEFORE, PRECISION,
        )  # fmt: skip
        gates = op.grad_gates + found[:, None] * (GATES * hidden) + units[None, :]
        if not BEFORE:
            tl.store(gates, grad_share.to(kind), mask=mask)
            gates += hidden
            before += tl.dot(grad_share.to(kind), own_n, input_precision=PRECISION)
        tl.store(gates, grad_r.to(kind), mask=mask)
        tl.store(gates + hidden, grad_z.to(kind), mask=mask)
        tl.store(gates + 2 * hidden, grad_n.to(kind), mask=mask)
        tl.store(op.previous + found[:, None] * hidden + units[None, :], h, mask=mask)
        before = tl.dot(grad_r.to(kind), own_r, before, input_precision=PRECISION)
        before = tl.dot(grad_z.to(kind), own_z, before, input_precision=PRECISION)
        if op.grad_decay is not None:
            tl.store(
                op.grad_decay + found[:, None] * hidden + units[None, :],
                (before * forgotten(raw, factor)).to(kind),
                mask=mask,
            )
        grad = tl.where(mask, before * factor, grad)
        own, r, z, n, share, h = later
    tl.store(places, grad, mask=inside)
