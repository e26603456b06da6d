"""The step of a layer in which the gates of some units follow their products at once.

The weights are stored in the order in which they are read: groups of units, each with its rows for r, z and n. So the
gates, which wait for one another, are computed while the products of the next units fill the time, and sums need no
memory between them.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from ..facts.quantization import Stored
from .arrays import ConstantTable
from .operations import Direction, Recurrence

UNITS = 16
"""Units with gates computed after their products. Of fewer, each number of the state would serve too few rows."""
AT_ONCE = 32
"""In layers of up to this number of units all gates follow all products: with two halves, the second would not hide
the latency of the first."""
APART = (8, 16)
"""In layers of this number of units (one register) the products for r come first, since n depends on r."""

TURN = "    uint32_t turn; /* from which end the next step reads the weights, of which the cache may hold the last ones */\n"
_STEP = """
/* The states next[<hidden>] of some units after a step that reads x[<inputs>] and the state h[<hidden>]. The products with the
   state are added to those with the input, but for n, whose sums r keeps apart. */
static @@_INLINE void <name>_units(
        const float *x, const float *h, float *next, size_t first, size_t units<rounded>) {
    float a[<rows>], b[<rows>];
    <start>
    <from_input>
    memcpy(b, a, 2 * units * sizeof(float));
    <start_n>
    <from_state>
    @_<gates>(a + 2 * units, b, h + first, next + first, units);
}

/* The state h[<hidden>] after a step that reads x[<inputs>]. */
static inline void <name>(const float *x, float *h<turn>) {
<round><walk>}
"""
_ROUND = """\
    @_rounded x_rounded[1], h_rounded[1];
    @_round(x, x_rounded, <inputs>);
    @_round(h, h_rounded, <hidden>);
"""
_ALL = "    <name>_units(x, h, h, 0, <hidden><given>);\n"
_WALK = """\
    @@_ALIGNED float next[<hidden>];
    size_t i;
    for (i = 0; i < <whole>; i += <units>)
        <name>_units(x, h, next, from_the_end ? <whole> - <units> - i : i, <units><given>);
<rest>    memcpy(h, next, sizeof next);
"""
_REST = "    <name>_units(x, h, next, <whole>, <left><given>);\n"


class Step(NamedTuple):
    """Functions in C, and the columns of their widest matrix of int8."""

    text: str
    widest: int


def grouped(gru: Recurrence) -> bool:
    """Whether gates can follow the products of their units, because no gate depends on the products of all units."""
    return gru.reset == "after" and gru.layers[0][0].gain_ih is None


def takes_turns(gru: Recurrence) -> bool:
    """Whether a layer reads its weights from alternating ends: the weights used last by the previous step may still be cached."""
    return grouped(gru) and gru.hidden > AT_ONCE


def arrays_of_step(gru: Recurrence) -> int:
    """Numbers in the arrays of the step of a layer, at least: without the rounded factors of int8."""
    if takes_turns(gru):
        return 6 * UNITS + gru.hidden
    return (6 + (gru.reset == "before")) * gru.hidden


def step_of_units(gru: Recurrence, own: Direction, name: str, gates: str, constants: ConstantTable) -> Step:
    """The step of one direction of one layer; its constants are added to the table."""
    hidden, inputs = gru.hidden, own.weight_ih.values.shape[1]
    turns, int8 = takes_turns(gru), gru.weights == "int8"
    units = UNITS if turns else hidden
    # The last group has the rest as well, so that none has fewer units than a vector has lanes.
    whole = (hidden // units - (hidden % units > 0)) * units
    groups = [units] * (whole // units) + [hidden - whole] * (whole < hidden)
    order = torch.cat([part + gate * hidden for part in torch.arange(hidden).split(groups) for gate in range(3)])
    both = _bias(own, hidden)
    bias = constants.add_vector(f"{name}_bias", None if both is None else both[order])
    last = constants.add_vector(f"{name}_bias_n", None if own.bias_hh is None else own.bias_hh[2 * hidden :])
    apart = (0, 2, 1) if hidden in APART else None
    places = {
        "walk": _WALK if turns else _ALL,
        "rest": _REST * (whole < hidden),
        "round": _ROUND * int8,
        "given": ", x_rounded, h_rounded" * int8,
        "rounded": ", const @_rounded *x_rounded, const @_rounded *h_rounded" * int8,
        "start": start("a", bias and f"{bias} + 3 * first", "3 * units"),
        "from_input": _product(constants, f"{name}_weight_ih", _in_order(own.weight_ih, order), "x", "a", groups, None),
        "start_n": start("b + 2 * units", last and f"{last} + first", "units"),
        "from_state": _product(
            constants, f"{name}_weight_hh", _in_order(own.weight_hh, order), "h", "b", groups, apart
        ),
        "gates": gates,
        "turn": ", size_t from_the_end" * turns,
        "rows": str(3 * max(groups)),
        "units": str(units),
        "whole": str(whole),
        "left": str(hidden - whole),
        "inputs": str(inputs),
        "hidden": str(hidden),
        "name": name,
    }
    text = _STEP
    for place, words in places.items():
        text = text.replace(f"<{place}>", words)
    return Step(text, max(inputs, hidden) if int8 else 0)


def _in_order(stored: Stored, rows: Tensor) -> Stored:
    return Stored(stored.values[rows], None if stored.scale is None else stored.scale[rows])


def _product(
    constants: ConstantTable,
    name: str,
    stored: Stored,
    x: str,
    sums: str,
    groups: list[int],
    gates: tuple[int, ...] | None,
) -> str:
    """The calls for the products of some units.

    x, sums: the names of the factors and of the sums.
    groups: the units that are computed together.
    gates: one call for each, in this order; None: one for all.
    """
    columns = stored.values.shape[1]
    rows = [3 * units for units in groups] if gates is None else [units for units in groups for _ in range(3)]
    weight, scale = constants.add_matrix(name, stored, rows)
    words = -(-columns * stored.values.element_size() // 4)
    ending = {4: "", 2: "_bfloat16", 1: "_int8"}[stored.values.element_size()]
    rounded = f"{x}, {x}_rounded" if scale else x
    calls = []
    for gate in gates or (0,):
        at = f" + {gate} * units" if gate else ""
        first = f"(3 * first{at})" if at else "3 * first"
        scales = f"{scale} + {first}, " if scale else ""
        count = "3 * units" if gates is None else "units"
        calls.append(
            f"@_add_rows{ending}({weight} + {first} * {words}, {scales}{rounded}, {sums}{at}, {count}, {columns});"
        )
    return "\n    ".join(calls)


def _bias(own: Direction, hidden: int) -> Tensor | None:
    """[3H] for the sums of r and z, and for the input's part of n."""
    if own.bias_hh is None:
        return own.bias_ih
    gates = own.bias_hh.clone()
    gates[2 * hidden :] = 0
    return gates if own.bias_ih is None else own.bias_ih + gates


def start(target: str, bias: str | None, count: int | str) -> str:
    """The call that gives sums their first values."""
    if bias is None:
        return f"memset({target}, 0, {count} * sizeof(float));"
    return f"@_copy({target}, {bias}, {count} * sizeof(float));"
