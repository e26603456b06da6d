"""The recurrence of any number of units, spread over the programs of a cooperative launch that meet after each phase of a step.

A program computes BN units of BM sequences at a time. A product over the states is cut into SLICES, one for each warp;
their sums are added at the end. See docs/kernels.md.
"""

import triton
import triton.language as tl

from .triton_pieces import (
    backward_of,
    decayed,
    forgotten,
    forward_of,
    grad_of_gates,
    meet,
    next_state,
    of_units,
    read_rows,
    sigmoid,
)

COUNTS = ["first", "last", "steps", "batch", "direction", "reverse", "rows"]
"""Arguments that need no separate kernel."""


@triton.jit
def add_three(a, b, c, d, e, f):
    return a + d, b + e, c + f


@triton.jit
def weights_of(weights, gate, units, k, hidden, TRANSPOSED: tl.constexpr):
    """A gate's weights [SLICES, BK, BN] from states k to the units; TRANSPOSED: from gradients k to the units."""
    mask = (k < hidden)[:, :, None] & (units < hidden)[None, None, :]
    k, units = k[:, :, None].to(tl.int64), units[None, None, :].to(tl.int64)
    own = weights + gate * tl.cast(hidden, tl.int64) * hidden
    places = k * hidden + units if TRANSPOSED else units * hidden + k
    return tl.load(own + places, mask=mask, other=0.0)


@triton.jit
def product(rows, factors, unit, active, k, own, weights, gate, units, hidden, TRANSPOSED, BK, SLICES, PRECISION):
    """[SLICES, BM, BN]: rows (pointers [BM]), decayed if there are factors (pointers [BM]), times the weights of a
    gate.

    own: the weights, if the program keeps them; otherwise they are loaded in pieces.
    """
    total = tl.zeros((SLICES, rows.shape[0], units.shape[0]), tl.float32)
    if own is not None:
        total = tl.dot(operand(rows, factors, unit, active, k, hidden), own, total, input_precision=PRECISION)
    else:
        for begin in tl.range(0, hidden, SLICES * BK, num_stages=3):
            piece = weights_of(weights, gate, units, begin + k, hidden, TRANSPOSED)
            read = operand(rows, factors, unit, active, begin + k, hidden)
            total = tl.dot(read, piece, total, input_precision=PRECISION)
    return total


@triton.jit
def operand(rows, factors, unit, active, k, hidden):
    """[SLICES, BM, BK]"""
    mask = active[None, :, None] & (k < hidden)[:, None, :]
    found = tl.load(rows[None, :, None] + k[:, None, :], mask=mask, other=0.0)
    if factors is not None:
        if unit is None:
            factor = tl.load(factors, mask=active, other=0.0)[None, :, None]
        else:
            factor = tl.load(factors[None, :, None] + k[:, None, :], mask=mask, other=0.0)
        found = decayed(found.to(tl.float32), factor.to(tl.float32)).to(found.dtype)
    return found


@triton.jit
def place(item, batch, hidden, BM: tl.constexpr, BN: tl.constexpr):
    """The sequences and the units of a tile."""
    tiles = tl.cdiv(hidden, BN)
    return item // tiles * BM + tl.arange(0, BM), item % tiles * BN + tl.arange(0, BN)


@triton.jit
def own_weights(weights, program, k, batch, hidden, TRANSPOSED: tl.constexpr, RESIDENT: tl.constexpr, BM, BN):
    """The weights of r, z and n that a program keeps, or None for each."""
    r, z, n = None, None, None
    if RESIDENT:
        _, units = place(program, batch, hidden, BM, BN)
        r = weights_of(weights, 0, units, k, hidden, TRANSPOSED)
        z = weights_of(weights, 1, units, k, hidden, TRANSPOSED)
        n = weights_of(weights, 2, units, k, hidden, TRANSPOSED)
    return r, z, n


@triton.jit
def reset_tile(op, order, steps, batch, width, hidden, reverse, b, units, k, own, BK, SLICES, PRECISION):
    """reset="before": r of a tile, and r * h into `read`."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    gates = tl.load(op.gates + rows[:, None] * (3 * width) + units[None, :], mask=mask, other=0.0)
    sums = product(
        states, factors, op.decay_unit, active, k, own, op.weights, 0, units, hidden, False, BK, SLICES, PRECISION
    )
    r = sigmoid(gates.to(tl.float32) + tl.sum(sums, 0))
    places = b.to(tl.int64)[:, None] * hidden + units[None, :]
    h = state_of(op, places, rows, units, mask)
    read = (r * h).to(op.output.dtype.element_ty)
    tl.store(op.read + places, read, mask=mask)
    if op.kept is not None:
        kept = op.kept + rows[:, None] * (4 * hidden) + units[None, :]
        tl.store(kept, r.to(read.dtype), mask=mask)
        tl.store(kept + 3 * hidden, read, mask=mask)


@triton.jit
def state_of(op, places, rows, units, mask):
    """A tile of the state before a step, in float32, decayed."""
    h = tl.load(op.state + places, mask=mask, other=0.0)
    if op.decay is not None:
        factors = op.decay + rows[:, None] * op.decay_row + of_units(units, op.decay_unit)[None, :]
        h = decayed(h, tl.load(factors, mask=mask, other=0.0).to(tl.float32))
    return h


@triton.jit
def state_tile(
    op, order, steps, batch, width, hidden, reverse, b, units, k, own_r, own_z, own_n, BEFORE, BK, SLICES, PRECISION
):
    """The next state of a tile; with reset="before", `read` has r * h."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    gates = op.gates + rows[:, None] * (3 * width) + units[None, :]
    gate_z = tl.load(gates + hidden, mask=mask, other=0.0).to(tl.float32)
    share_n = tl.load(gates + 2 * hidden, mask=mask, other=0.0).to(tl.float32)
    places = b.to(tl.int64)[:, None] * hidden + units[None, :]
    h = state_of(op, places, rows, units, mask)
    kind = op.output.dtype.element_ty
    z = product(
        states, factors, op.decay_unit, active, k, own_z, op.weights, 1, units, hidden, False, BK, SLICES, PRECISION
    )
    if BEFORE:
        read = op.read + b.to(tl.int64) * hidden
        n = product(read, None, None, active, k, own_n, op.weights, 2, units, hidden, False, BK, SLICES, PRECISION)
        sum_z, sum_n = tl.sum(z, 0), tl.sum(n, 0)
        new, r, z, n = next_state(share_n, gate_z + sum_z, share_n, sum_n, h, True)
    else:
        gate_r = tl.load(gates, mask=mask, other=0.0).to(tl.float32)
        r = product(
            states, factors, op.decay_unit, active, k, own_r, op.weights, 0, units, hidden, False, BK, SLICES, PRECISION
        )
        n = product(
            states, factors, op.decay_unit, active, k, own_n, op.weights, 2, units, hidden, False, BK, SLICES, PRECISION
        )
        sum_r, sum_z, sum_n = tl.reduce((r, z, n), 0, add_three)
        if op.bias is not None:
            sum_n += tl.load(op.bias + units, mask=units < hidden, other=0.0).to(tl.float32)[None, :]
        new, r, z, n = next_state(gate_r + sum_r, gate_z + sum_z, share_n, sum_n, h, False)
    if op.kept is not None:
        kept = op.kept + rows[:, None] * (4 * hidden) + units[None, :]
        tl.store(kept + hidden, z.to(kind), mask=mask)
        tl.store(kept + 2 * hidden, n.to(kind), mask=mask)
        if not BEFORE:
            tl.store(kept, r.to(kind), mask=mask)
            tl.store(kept + 3 * hidden, sum_n.to(kind), mask=mask)
    tl.store(op.state + places, new, mask=mask)
    tl.store(op.output + rows[:, None] * width + units[None, :], new.to(kind), mask=mask)


@triton.jit(do_not_specialize=COUNTS)
def forward(
    op, counters, first, last, steps, batch, width, hidden, rows, direction, reverse,
    BEFORE: tl.constexpr, PHASES: tl.constexpr, MEETS: tl.constexpr, RESIDENT: tl.constexpr, PRECISION: tl.constexpr,
    AMD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLICES: tl.constexpr,
):  # fmt: skip
    """Steps first <= order < last of all sequences. The directions of a layer meet apart.

    Args:
        PHASES: which phases of a step to compute (sum of bits): 1: r * h, with reset="before" only; 2: the next state.
        MEETS: whether programs meet after each phase; without, a launch has one phase of one step.
        RESIDENT: each program keeps its weights; it has the same units in every tile.
    """
    d = tl.program_id(1) + direction
    op = forward_of(op, d, rows, batch, hidden)
    reverse = (reverse + d) > 0
    program, programs = tl.program_id(0), tl.num_programs(0)
    items = tl.cdiv(batch, BM) * tl.cdiv(hidden, BN)
    k = (tl.arange(0, SLICES) * BK)[:, None] + tl.arange(0, BK)[None, :]
    own_r, own_z, own_n = own_weights(op.weights, program, k, batch, hidden, False, RESIDENT, BM, BN)
    arrivals = 0
    for order in tl.range(first, last, num_stages=1):
        if BEFORE and PHASES & 1:
            for item in tl.range(program, items, programs, num_stages=1):
                b, units = place(item, batch, hidden, BM, BN)
                reset_tile(op, order, steps, batch, width, hidden, reverse, b, units, k, own_r, BK, SLICES, PRECISION)
            if MEETS:
                arrivals += programs
                meet(counters + d, arrivals, AMD)
        if PHASES & 2:
            for item in tl.range(program, items, programs, num_stages=1):
                b, units = place(item, batch, hidden, BM, BN)
                state_tile(
                    op, order, steps, batch, width, hidden, reverse, b, units, k, own_r, own_z, own_n,
                    BEFORE, BK, SLICES, PRECISION,
                )  # fmt: skip
            if MEETS:
                arrivals += programs
                meet(counters + d, arrivals, AMD)


@triton.jit
def gradient_tile(op, order, steps, batch, width, hidden, reverse, b, units, BEFORE):
    """The gradients of the gates of a tile; with reset="before" r's is missing, and n's lacks r's share."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    h = tl.load(states[:, None] + units[None, :], mask=mask, other=0.0).to(tl.float32)
    if op.decay is not None:
        h = decayed(
            h, tl.load(factors[:, None] + of_units(units, op.decay_unit)[None, :], mask=mask, other=0.0).to(tl.float32)
        )
    kept = op.kept + rows[:, None] * (4 * hidden) + units[None, :]
    z = tl.load(kept + hidden, mask=mask, other=0.0).to(tl.float32)
    n = tl.load(kept + 2 * hidden, mask=mask, other=0.0).to(tl.float32)
    state = op.grad_state + b.to(tl.int64)[:, None] * hidden + units[None, :]
    grad = tl.load(state, mask=mask, other=0.0)
    if op.grad_output is not None:
        grad += tl.load(op.grad_output + rows[:, None] * width + units[None, :], mask=mask, other=0.0).to(tl.float32)
    grad_z, grad_n = grad_of_gates(grad, z, n, h)
    kind = op.output.dtype.element_ty
    tl.store(op.previous + rows[:, None] * hidden + units[None, :], h.to(kind), mask=mask)
    tl.store(state, grad * z, mask=mask)
    if BEFORE:
        gates = op.grad_gates + rows[:, None] * (3 * hidden) + units[None, :]
    else:
        r = tl.load(kept, mask=mask, other=0.0).to(tl.float32)
        grad_r = grad_n * tl.load(kept + 3 * hidden, mask=mask, other=0.0).to(tl.float32) * r * (1.0 - r)
        shares = op.grad_gates + rows[:, None] * (4 * hidden) + units[None, :]
        tl.store(shares, (grad_n * r).to(kind), mask=mask)
        gates = shares + hidden
        tl.store(gates, grad_r.to(kind), mask=mask)
    tl.store(gates + hidden, grad_z.to(kind), mask=mask)
    tl.store(gates + 2 * hidden, grad_n.to(kind), mask=mask)


@triton.jit
def reset_gradient_tile(op, order, steps, batch, width, hidden, reverse, b, units, k, own_n, BK, SLICES, PRECISION):
    """reset="before": the gradient of r * h, and from it the gradient of r and a part of the state's."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    gates = op.grad_gates + rows * (3 * hidden)
    sums = product(
        gates + 2 * hidden, None, None, active, k, own_n, op.weights, 2, units, hidden, True, BK, SLICES, PRECISION
    )
    grad = tl.sum(sums, 0)
    r = tl.load(op.kept + rows[:, None] * (4 * hidden) + units[None, :], mask=mask, other=0.0).to(tl.float32)
    h = tl.load(op.previous + rows[:, None] * hidden + units[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(gates[:, None] + units[None, :], (grad * h * r * (1.0 - r)).to(op.output.dtype.element_ty), mask=mask)
    state = op.grad_state + b.to(tl.int64)[:, None] * hidden + units[None, :]
    tl.store(state, tl.load(state, mask=mask, other=0.0) + grad * r, mask=mask)


@triton.jit
def state_gradient_tile(
    op, order, steps, batch, width, hidden, reverse, b, units, k, own_r, own_z, own_n, BEFORE, BK, SLICES, PRECISION
):
    """The gradient of the state before a step, complete."""
    rows, active, states, factors = read_rows(op, order, steps, batch, width, hidden, reverse, b)
    mask = active[:, None] & (units < hidden)[None, :]
    if BEFORE:
        gates = op.grad_gates + rows * (3 * hidden)
    else:
        gates = op.grad_gates + rows * (4 * hidden) + hidden
    sums = product(gates, None, None, active, k, own_r, op.weights, 0, units, hidden, True, BK, SLICES, PRECISION)
    sums += product(
        gates + hidden, None, None, active, k, own_z, op.weights, 1, units, hidden, True, BK, SLICES, PRECISION
    )
    if not BEFORE:
        sums += product(
            gates - hidden, None, None, active, k, own_n, op.weights, 2, units, hidden, True, BK, SLICES, PRECISION
        )
    state = op.grad_state + b.to(tl.int64)[:, None] * hidden + units[None, :]
    grad = tl.load(state, mask=mask, other=0.0) + tl.sum(sums, 0)
    if op.decay is not None:
        factor = tl.load(factors[:, None] + of_units(units, op.decay_unit)[None, :], mask=mask, other=0.0).to(
            tl.float32
        )
        if op.grad_decay is not None:
            h = forgotten(tl.load(states[:, None] + units[None, :], mask=mask, other=0.0).to(tl.float32), factor)
            own = op.grad_decay + rows[:, None] * hidden + units[None, :]
            tl.store(own, (grad * h).to(op.output.dtype.element_ty), mask=mask)
        grad *= factor
    tl.store(state, grad, mask=mask)


@triton.jit(do_not_specialize=COUNTS)
def backward(
    op, counters, first, last, steps, batch, width, hidden, rows, direction, reverse,
    BEFORE: tl.constexpr, PHASES: tl.constexpr, MEETS: tl.constexpr, RESIDENT: tl.constexpr, PRECISION: tl.constexpr,
    AMD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLICES: tl.constexpr,
):  # fmt: skip
    """Steps last > order >= first of the forward pass, the last one first; arguments as there.

    Args:
        PHASES: 1: gradients of gates; 2: of r, with reset="before" only; 4: of the state.
    """
    d = tl.program_id(1) + direction
    op = backward_of(op, d, rows, batch, hidden, 3 if BEFORE else 4)
    reverse = (reverse + d) > 0
    program, programs = tl.program_id(0), tl.num_programs(0)
    items = tl.cdiv(batch, BM) * tl.cdiv(hidden, BN)
    k = (tl.arange(0, SLICES) * BK)[:, None] + tl.arange(0, BK)[None, :]
    own_r, own_z, own_n = own_weights(op.weights, program, k, batch, hidden, True, RESIDENT, BM, BN)
    arrivals = 0
    for back in tl.range(first, last, num_stages=1):
        order = first + last - 1 - back
        if PHASES & 1:
            for item in tl.range(program, items, programs, num_stages=1):
                b, units = place(item, batch, hidden, BM, BN)
                gradient_tile(op, order, steps, batch, width, hidden, reverse, b, units, BEFORE)
            if MEETS:
                arrivals += programs
                meet(counters + d, arrivals, AMD)
        if BEFORE and PHASES & 2:
            for item in tl.range(program, items, programs, num_stages=1):
                b, units = place(item, batch, hidden, BM, BN)
                reset_gradient_tile(
                    op, order, steps, batch, width, hidden, reverse, b, units, k, own_n, BK, SLICES, PRECISION
                )
            if MEETS:
                arrivals += programs
                meet(counters + d, arrivals, AMD)
        if PHASES & 4:
            for item in tl.range(program, items, programs, num_stages=1):
                b, units = place(item, batch, hidden, BM, BN)
                state_gradient_tile(
                    op, order, steps, batch, width, hidden, reverse, b, units, k, own_r, own_z, own_n,
                    BEFORE, BK, SLICES, PRECISION,
                )  # fmt: skip
        tl.debug_barrier()  # the next step reads gradients of the state that other threads of the program stored
