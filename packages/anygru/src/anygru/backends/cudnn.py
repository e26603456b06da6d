"""NVIDIA's cuDNN, for reset="after" on CUDA: torch's own call and torch's own node of autograd.

Unlike torch's layer, ours has second derivatives there: see `cudnn_gradients`.
"""

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import _VF, Tensor

from ..facts import torch_private
from ..facts.formula import Formula
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Options, Problem
from ..facts.weights import Layout
from . import aten, cpu_calls, cudnn_gradients, grouped, mirrored, one_buffer
from .backend import Backend


def refuse(problem: Problem) -> str | None:
    if problem.device_type != "cuda":
        return f"it computes on CUDA, and the input is on {problem.device_type}"
    return aten.refuse_formula(problem)


def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]:
    """As `reference.run`."""
    layout = problem.layout
    if layout.groups > 1:
        return grouped.run(run, problem, call)
    if layout.reverse:
        return mirrored.run(run, problem, call)
    weights = one_buffer.views(call.weights, layout.num_layers, layout.bidirectional, layout.bias)
    call = call._replace(h_0=call.h_0.contiguous(), weights=weights)
    found = aten.run_plain(problem, call, problem.needs_grad)
    if problem.needs_grad:
        cudnn_gradients.watch(found[0])
    return found


def direct(
    input: Tensor,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    options: Options,
    needs_grad: bool,
    modifiers: Modifiers = NONE,
) -> tuple[Tensor, Tensor] | None:
    """Fast path: a dense call [T, B, I] without the checks that repeat; None if anything about it is unusual or wrong."""
    if modifiers is not NONE or options.formula.gradient_clipping is not None or not _are_plain(input, h_0, weights):
        return None
    shapes = tuple([one.shape for one in ((input, *weights) if h_0 is None else (input, *weights, h_0))])
    is_on = torch_private.is_cudnn_enabled()
    planned = _plan(options.formula, options.layer, shapes, len(weights), input.dtype, input.device, is_on)
    if planned is None:
        return None
    states, given, places = planned
    h_0 = input.new_zeros(states) if h_0 is None else h_0.contiguous()
    try:
        found = _VF.gru(
            input, h_0, one_buffer.arranged(weights, places), *given, needs_grad, options.layer.bidirectional, False
        )
    except RuntimeError:  # the general path computes it or raises an error of ours
        return None
    if needs_grad:
        cudnn_gradients.watch(found[0])
    return found


def direct_cell(
    input: Tensor, h: Tensor | None, weights: Sequence[Tensor], options: Options, needs_grad: bool
) -> Tensor | None:
    """Fast path: a step [B, I] by torch's own cell on CUDA, which has second derivatives; None as for `direct`."""
    if options.formula != _PLAIN or options.layer not in _CELLS or len(weights) != options.layer.per_layer():
        return None
    if input.dim() != 2 or not _are_plain(input, h, weights):
        return None
    h = input.new_zeros((input.shape[0], weights[1].shape[1])) if h is None else h
    try:
        return _VF.gru_cell(input, h, *weights)
    except RuntimeError:
        return None


_PLAIN = Formula()
_CELLS = (Layout(), Layout(bias=False))


def _are_plain(input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor]) -> bool:
    """Whether no tensor is of a subclass. torch's call itself compares their dtypes and devices."""
    for weight in weights:
        if type(weight) not in cpu_calls.PLAIN:
            return False
    return type(input) in cpu_calls.PLAIN and (h_0 is None or type(h_0) in cpu_calls.PLAIN)


@lru_cache(maxsize=1024)
def _plan(
    formula: Formula,
    layer: Layout,
    shapes: tuple[torch.Size, ...],
    count: int,
    dtype: torch.dtype,
    device: torch.device,
    is_on: bool,
) -> tuple[tuple[int, ...], tuple[bool, int, float], one_buffer.Places] | None:
    """The shape of h_0, what torch's call gets before `train`, and the places of `count` weights; None: none of it fits."""
    problem = aten.fitting("cuda", True, formula, layer, dtype, shapes, count)
    if problem is None or problem.layout.reverse:
        return None
    layout = problem.layout
    places = one_buffer.places(
        shapes[1 : count + 1], layout.num_layers, layout.bidirectional, layout.bias, "gru", dtype, device, is_on
    )
    return (layout.states(), shapes[0][1], shapes[2][1]), (layout.bias, layout.num_layers, 0.0), places


BACKEND = Backend("cudnn", refuse, run, "cuda", direct, direct_cell)
