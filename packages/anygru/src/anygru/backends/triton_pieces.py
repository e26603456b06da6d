"""The shared parts of the GPU kernels: their operands, activations, addresses, the barrier. See docs/kernels.md.

`B` sequences, `H` hidden units, `D` directions, `N` rows of all steps. A tile has BM sequences.
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl


class Forward(NamedTuple):
    """The operands of a forward kernel, all contiguous; None: the call has no such argument.

    Arguments with a dimension D are for all directions of a layer.
    """

    gates: Any
    """[N, D*3H] the input's share of r, z, n, with all biases but that inside of reset="after"'s product"""
    weights: Any
    """[D, 3H, H]"""
    bias: Any
    """[D, H] that one, or None"""
    h_0: Any
    """[D, B, H]"""
    output: Any
    """[N, D*H]"""
    kept: Any
    """[D, N, 4, H] r, z, n and the state's share of n (reset="before": r * h), or None"""
    read: Any
    """[D, B, H] r * h of one step, where programs exchange it: for reset="before" """
    state: Any
    """[D, B, H] in float32: before and after the call, and of a spread kernel after each step"""
    starts: Any
    """int64 [T + 1] the first row of each step, or None: step t begins at row t * B"""
    decay: Any
    """the first factor, or None; its strides follow, that of the units None where all have the same factor"""
    decay_state: Any
    decay_row: Any
    decay_unit: Any


class Backward(NamedTuple):
    """The same of a backward kernel."""

    grad_output: Any
    """[N, D*H] or None"""
    weights: Any
    h_0: Any
    output: Any
    kept: Any
    grad_gates: Any
    """[D, N, 4, H] gradients of the state's share of n, of r, z, n before their activation; "before": [D, N, 3, H] r, z, n"""
    previous: Any
    """[D, N, H] the state that the step read"""
    grad_state: Any
    """[D, B, H] in float32: of h_n before, of h_0 after the call"""
    grad_decay: Any
    """[D, N, H] or None"""
    starts: Any
    decay: Any
    decay_state: Any
    decay_row: Any
    decay_unit: Any


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """To about 1e-7, absolutely; no infinity is divided by another."""
    shrunk = tl.exp(-2.0 * tl.abs(x))
    size = (1.0 - shrunk) / (1.0 + shrunk)
    return tl.where(x < 0, -size, size)


@triton.jit
def rows_of(starts, step, steps, batch):
    """First row of a step and how many it has: none before the first step and after the last."""
    inside = (step >= 0) & (step < steps)
    if starts is None:
        first = tl.cast(step, tl.int64) * batch
        count = tl.where(inside, batch, 0)
    else:
        first = tl.load(starts + step, mask=inside, other=0)
        count = (tl.load(starts + step + 1, mask=inside, other=0) - first).to(tl.int32)
    return first, count


@triton.jit
def step_at(order, steps, reverse):
    """The step that is the order-th to be computed."""
    return tl.where(reverse, steps - 1 - order, order)


@triton.jit
def of_units(units, unit):
    """The positions of some units' factors in their row."""
    return units * 0 if unit is None else units


@triton.jit
def forgotten(h, factor):
    """The state, but 0 where it is infinite or NaN and its factor is 0."""
    return tl.where((factor == 0) & ((tl.abs(h) < float("inf")) == 0), 0.0, h)


@triton.jit
def decayed(h, factor):
    return forgotten(h, factor) * factor


@triton.jit
def next_state(gate_r, gate_z, share_n, product_n, h, BEFORE: tl.constexpr):
    """The next state and r, z, n, from the sums of r and z and the two shares of n; r scales the state's or has scaled it."""
    r, z = sigmoid(gate_r), sigmoid(gate_z)
    if BEFORE:
        n = tanh(share_n + product_n)
    else:
        n = tanh(share_n + r * product_n)
    return n + z * (h - n), r, z, n


@triton.jit
def grad_of_gates(grad, z, n, h):
    """Gradients of the sums of z and n from the gradient of the next state."""
    return grad * (h - n) * z * (1.0 - z), grad * (1.0 - z) * (1.0 - n * n)


@triton.jit
def finish_stores():
    """Each thread of an AMD GPU waits until its stores have arrived in L2.

    There a program's barrier waits only for shared memory, and a release only for the stores of the same wave. On
    NVIDIA's GPUs a release after a barrier covers the stores of all threads that came to the barrier.
    """
    threads = tl.arange(0, 64)
    tl.inline_asm_elementwise("s_waitcnt vmcnt(0)", "=v,v,~{memory}", [threads], tl.int32, is_pure=False, pack=1)


@triton.jit
def meet(counter, arrivals, AMD: tl.constexpr):
    """A barrier of the whole grid: returns when `arrivals` programs have arrived; their earlier stores are visible
    afterwards.

    The counter only grows: at the n-th barrier, p programs wait for n * p arrivals. All threads of a program have
    stored before its thread arrives (release), and no thread loads before that thread has seen every arrival (acquire),
    as in NVIDIA's grid.sync().
    """
    if AMD:
        finish_stores()
    tl.debug_barrier()
    tl.atomic_add(counter, 1, sem="release", scope="gpu")
    while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") < arrivals:
        pass
    tl.debug_barrier()


@triton.jit
def shifted(pointer, offset):
    """None stays None."""
    return None if pointer is None else pointer + offset


@triton.jit
def forward_of(op, d, rows, batch, hidden):
    """The operands of one direction."""
    d = tl.cast(d, tl.int64)
    states = d * batch * hidden
    return Forward(
        op.gates + d * 3 * hidden,
        op.weights + d * 3 * hidden * hidden,
        shifted(op.bias, d * hidden),
        op.h_0 + states,
        op.output + d * hidden,
        shifted(op.kept, d * rows * 4 * hidden),
        shifted(op.read, states),
        op.state + states,
        op.starts,
        shifted(op.decay, d * op.decay_state),
        op.decay_state,
        op.decay_row,
        op.decay_unit,
    )


@triton.jit
def backward_of(op, d, rows, batch, hidden, GATES: tl.constexpr):
    """The operands of one direction; `gates` is the number of gates of its gradients."""
    d = tl.cast(d, tl.int64)
    states = d * batch * hidden
    values = d * rows * hidden
    return Backward(
        shifted(op.grad_output, d * hidden),
        op.weights + d * 3 * hidden * hidden,
        op.h_0 + states,
        op.output + d * hidden,
        op.kept + values * 4,
        op.grad_gates + values * GATES,
        op.previous + values,
        op.grad_state + states,
        shifted(op.grad_decay, values),
        op.starts,
        shifted(op.decay, d * op.decay_state),
        op.decay_state,
        op.decay_row,
        op.decay_unit,
    )


@triton.jit
def read_rows(op, order, steps, batch, width, hidden, reverse, b):
    """Of sequences b at the order-th step: their rows, which have the step, pointers to the states before and to the factors."""
    first, count = rows_of(op.starts, step_at(order, steps, reverse), steps, batch)
    before, several = rows_of(op.starts, step_at(order - 1, steps, reverse), steps, batch)
    states = tl.where(b < several, op.output + (before + b) * width, op.h_0 + b.to(tl.int64) * hidden)
    return first + b, b < count, states, shifted(op.decay, (first + b) * op.decay_row)
