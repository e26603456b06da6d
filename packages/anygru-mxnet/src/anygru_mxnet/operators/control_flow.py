"""Loops and branches as operators. They contain graphs, which run on some of the operator's inputs.

`graphs` are functions on lists of tensors. The attributes `*_locs` assign the operator's inputs to the variables of each graph;
`wires_of` converts them to positions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError
from ..state import state
from .registry import operator

Graph = Callable[[list[Tensor]], list[Tensor]]


def _foreach_wires(attributes: Mapping[str, Any]) -> list[list[int]]:
    order = [place for key in ("in_data_locs", "in_state_locs", "remain_locs") for place in attributes[key]]
    return [[order.index(place) for place in range(len(order))]]


def _wires(*keys: str) -> Callable[[Mapping[str, Any]], list[list[int]]]:
    return lambda attributes: [list(attributes[key]) for key in keys]


def _counted(attributes: Mapping[str, Any]) -> int:
    return int(attributes["num_outputs"])


def _values(tensors: Sequence[Tensor], wires: list[int]) -> list[Tensor]:
    return [tensors[place] for place in wires]


@operator("_foreach", visible=_counted, wires=_foreach_wires)
def _foreach(
    *inputs: Tensor,
    graphs: Sequence[Graph] = (),
    in_data_locs: Sequence[int] = (),
    in_state_locs: Sequence[int] = (),
    remain_locs: Sequence[int] = (),
    num_out_data: int = 0,
    num_outputs: int = 1,
) -> tuple[Tensor, ...]:
    locations = {"in_data_locs": in_data_locs, "in_state_locs": in_state_locs, "remain_locs": remain_locs}
    wires = _foreach_wires(locations)[0]
    data, rest = len(in_data_locs), inputs[len(in_data_locs) + len(in_state_locs) :]
    states = list(inputs[data : data + len(in_state_locs)])
    steps = []
    # MXNet 1.9.1 has no arrays without axes here: outside of `mx.np`, a step of a vector is an array of one number.
    columns = [values.unsqueeze(1) if values.dim() == 1 and not state.numpy else values for values in inputs[:data]]
    if not columns or not len(columns[0]):
        raise MXNetError("foreach needs data of one step or more")
    if columns[0].device.type == "meta":  # only shapes are inferred: one step determines them
        results = graphs[0](_values([*(values[0] for values in columns), *states, *rest], wires))
        stacked = [row.new_empty((len(columns[0]), *row.shape)) for row in results[:num_out_data]]
        return (*stacked, *results[num_out_data:])
    for parts in zip(*(values.unbind() for values in columns), strict=True):
        results = graphs[0](_values([*parts, *states, *rest], wires))
        steps.append(results[:num_out_data])
        states = results[num_out_data:]
    return (*map(torch.stack, zip(*steps, strict=True)), *states)


@operator("_while_loop", visible=_counted, wires=_wires("cond_input_locs", "func_input_locs"))
def _while_loop(
    *inputs: Tensor,
    graphs: Sequence[Graph] = (),
    cond_input_locs: Sequence[int] = (),
    func_input_locs: Sequence[int] = (),
    func_var_locs: Sequence[int] = (),
    max_iterations: int = 0,
    num_out_data: int = 0,
    num_outputs: int = 1,
) -> tuple[Tensor, ...]:
    condition, body = graphs
    values = list(inputs)
    variables = [func_input_locs[place] for place in func_var_locs]
    on_meta = inputs[0].device.type == "meta"  # only shapes are inferred: one step determines them
    steps: list[list[Tensor]] = []
    while len(steps) < (1 if on_meta else max_iterations):
        if not on_meta and not condition(_values(values, list(cond_input_locs)))[0].item():
            break
        results = body(_values(values, list(func_input_locs)))
        steps.append(results[:num_out_data])
        for place, value in zip(variables, results[num_out_data:], strict=True):
            values[place] = value
    last = [values[place] for place in variables]
    taken = len(steps)
    # Rows of missing steps are undefined in MXNet and zeros here. Without any step the body runs once for the shapes of its
    # results.
    rows = steps[0] if steps else [t.detach() for t in body(_values(values, list(func_input_locs)))[:num_out_data]]
    rest = [row.new_zeros((max_iterations - taken, *row.shape)) for row in rows]
    if not taken:
        return (*rest, *last)
    stacked = map(torch.stack, zip(*steps, strict=True))
    return (*(torch.cat([done, zeros]) for done, zeros in zip(stacked, rest, strict=True)), *last)


@operator("_cond", visible=_counted, wires=_wires("cond_input_locs", "then_input_locs", "else_input_locs"))
def _cond(
    *inputs: Tensor,
    graphs: Sequence[Graph] = (),
    cond_input_locs: Sequence[int] = (),
    then_input_locs: Sequence[int] = (),
    else_input_locs: Sequence[int] = (),
    num_outputs: int = 1,
) -> tuple[Tensor, ...]:
    condition, then, otherwise = graphs
    # Both branches have the same shapes.
    if inputs[0].device.type == "meta" or condition(_values(inputs, list(cond_input_locs)))[0].item():
        return tuple(then(_values(inputs, list(then_input_locs))))
    return tuple(otherwise(_values(inputs, list(else_input_locs))))
