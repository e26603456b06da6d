"""One call in its inner form: checks, the choice of a backend, and what happens between the layers."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import backends
from ..backends import aten
from ..errors import ArgumentError, ArgumentTypeError, BackendError
from ..facts.arguments import check_distributed, check_state
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Options, Problem
from ..facts.torch_private import is_any_autocast, is_profiled, tracing_state
from ..facts.weights import Layout, Weights, count_layers
from . import tracing, tracing_exported, tracing_frozen  # noqa: F401  (the second registers nodes of torch.export)
from .active_modes import has_tangent, is_recorded, is_transformed, named, requires_gradient, unrecorded
from .casting import (
    DTYPES,
    HALVES,
    AnyWeights,
    autocast,
    autocast_dtype,
    autocast_enabled,
    autocast_products,
    faster_products,
)
from .frozen_weights import FrozenWeights


def run(
    input: Tensor,
    h_0: Tensor | None,
    weights: AnyWeights,
    batch: int,
    batch_sizes: Tensor | None,
    options: Options,
    modifiers: Modifiers = NONE,
    *,
    order: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """[T, B, I], or packed rows with batch_sizes, through checks, choice and backend; states as [T, B, L*D, H] or [N, L*D, H].

    Args:
        order: int64 [B], where to find the states of packed rows in h_0 and h_n; None: in the rows' own order.
    """
    is_cast = is_any_autocast() and autocast_enabled(input)
    if is_cast and not _is_cast_by_torch(input, h_0, weights, batch_sizes, options, modifiers):
        return _run_cast(input, h_0, weights, modifiers, (batch, batch_sizes, options), order)
    plain = batch_sizes is None and options.noise is None and options.products is None
    if plain and not options.dropout and not options.states and not torch.compiler.is_compiling():
        found: tuple[Tensor, Tensor] | None = direct(False, input, h_0, weights, options, modifiers)
        if found is not None:
            return found
    layout, hidden_size, is_for_all = unrecorded(_check, input, h_0, weights, batch, options, is_cast)
    if h_0 is None:
        h_0 = input.new_zeros((layout.states(), batch, hidden_size))
    elif is_for_all:
        h_0 = h_0.expand(-1, batch, -1)
    elif order is not None:
        h_0 = h_0.index_select(1, order)
    if options.noise is not None:
        modifiers = options.noise.draw(modifiers, input, layout.states(), batch, hidden_size)
    results: tuple[Tensor, ...]
    if isinstance(weights, FrozenWeights):
        results = _run_frozen(Call(input, h_0, (), batch_sizes, modifiers), weights, options)
    elif options.states or (options.dropout and layout.num_layers > 1):
        results = _run_by_layer(Call(input, h_0, weights, batch_sizes, modifiers), layout, options)
    else:
        results = _compute(Call(input, h_0, weights, batch_sizes, modifiers), layout, options)
    if order is None:
        return results
    output, h_n, *states = results
    return output, h_n.index_select(1, torch.argsort(order)), *states


def may_be_cast_by_torch(input: Tensor) -> bool:
    """Whether torch's own call of cuDNN, and its cell, may compute a call under autocast, which they cast themselves."""
    return input.device.type == backends.load("cudnn").device_type


def _is_cast_by_torch(
    input: Tensor,
    h_0: Tensor | None,
    weights: AnyWeights,
    batch_sizes: Tensor | None,
    options: Options,
    modifiers: Modifiers,
) -> bool:
    """Whether torch's call of cuDNN computes a call under autocast: it casts all weights into one buffer."""
    if isinstance(weights, FrozenWeights) or options.noise is not None or torch.compiler.is_compiling():
        return False
    if not may_be_cast_by_torch(input):
        return False
    call = Call(input, input if h_0 is None else h_0, weights, batch_sizes, modifiers)
    if not aten.CASTABLE.issuperset(one.dtype for one in call.tensors()):
        return False
    problem = unrecorded(_problem, call, count_layers(weights, options.layer), options)
    return backends.choose(problem, options.backend).name == "cudnn"


def _run_cast(
    input: Tensor,
    h_0: Tensor | None,
    weights: AnyWeights,
    modifiers: Modifiers,
    rest: tuple[int, Tensor | None, Options],
    order: Tensor | None,
) -> tuple[Tensor, ...]:
    """`run` in the dtypes that autocast asks for, with autocast off so that matrix products do not cast again."""
    input, h_0, weights = autocast(input, h_0, weights)
    modifiers = modifiers if modifiers is NONE else modifiers.like(input)
    batch, batch_sizes, options = rest
    faster = unrecorded(_autocast_products, input, h_0, weights, batch_sizes)
    options = options._replace(products=faster, autocast=autocast_dtype(input))
    with torch.autocast(input.device.type, enabled=False):
        return run(input, h_0, weights, batch, batch_sizes, options, modifiers, order=order)


def _autocast_products(
    input: Tensor, h_0: Tensor | None, weights: AnyWeights, batch_sizes: Tensor | None
) -> torch.dtype | None:
    needs_grad = not isinstance(weights, FrozenWeights) and requires_gradient(input, h_0, weights)
    return autocast_products(input.dtype, input, weights, batch_sizes, needs_grad)


def sizes_of(weights: AnyWeights, options: Options) -> tuple[Layout, int]:
    """The layout of weights, and H.

    Raises:
        ArgumentError: the number of weights fits no layer.
    """
    if isinstance(weights, FrozenWeights):
        return weights.layout, weights.hidden_size
    layout = count_layers(weights, options.layer)
    return layout, weights[1].shape[-1] * layout.groups


def direct(
    is_cell: bool, input: Tensor, h_0: Tensor | None, weights: AnyWeights, options: Options, modifiers: Modifiers = NONE
) -> Any:
    """The fast path for small calls: a backend checks and computes in one call; None if none takes it.

    Args:
        is_cell: the call is a single step, not a dense batch as `run` takes it.
    """
    if isinstance(weights, FrozenWeights):
        if requires_gradient(input, h_0, modifiers.present()) or is_transformed() or is_recorded():
            return None
        packed: Callable[..., Any] = weights.direct_cell if is_cell else weights.direct
        given = (input, h_0) if modifiers is NONE else (input, h_0, modifiers)
        return named(packed, *given) if is_profiled() else packed(*given)
    compute = backends.fast_path(is_cell, input.is_cuda, options.backend)
    if compute is None or is_transformed() or is_recorded():
        return None
    if modifiers is NONE:
        call: tuple[Any, ...] = (input, h_0, weights, options, requires_gradient(input, h_0, weights))
    else:
        needs_grad = requires_gradient(input, h_0, (*weights, *modifiers.present()))
        call = (input, h_0, weights, options, needs_grad, modifiers)
    return named(compute, *call) if is_profiled() else compute(*call)


def describe(
    input: Tensor, weights: AnyWeights, batch_sizes: Tensor | None, options: Options, modified: tuple[str, ...] = ()
) -> Problem:
    """The problem by which `run` would choose a backend for this input; computes nothing.

    Args:
        modified: the names of the caller's modifiers; the modifiers of the options' noise are added.

    Raises the errors of `run`.
    """
    if autocast_enabled(input):
        input, _, weights = autocast(input, None, weights)
        faster = _autocast_products(input, None, weights, batch_sizes)
        options = options._replace(products=faster, autocast=autocast_dtype(input))
    layout, hidden_size, _ = _check(input, None, weights, 0, options)
    state = input.new_empty((1, 1, hidden_size), device="meta")
    rounds_rows = False
    if isinstance(weights, FrozenWeights):
        rounds_rows, weights = weights.rounds_rows, ()
    modified += () if options.noise is None else options.noise.names()
    problem = _problem(Call(input, state, weights, batch_sizes), layout, options)
    return problem._replace(modified=modified, rounds_rows=rounds_rows)


def _check(
    input: Tensor, h_0: Tensor | None, weights: AnyWeights, batch: int, options: Options, is_cast: bool = False
) -> tuple[Layout, int, bool]:
    """The layout of the weights, H, and whether h_0 is one state for all sequences of a larger batch.

    Args:
        is_cast: autocast will give all one dtype.

    Raises if the dtype of the input is wrong, or a weight or h_0 does not fit.
    """
    dtype = input.dtype
    if dtype not in DTYPES:
        raise ArgumentTypeError(f"input must be float32, float64, bfloat16 or float16, got {dtype}")
    if input.layout is not torch.strided:
        raise ArgumentTypeError(f"input must be a dense tensor, got {input.layout}")
    layout, hidden_size = sizes_of(weights, options)
    if isinstance(weights, FrozenWeights):
        _check_frozen(input, weights)
    else:
        Weights(weights, layout).check(input.shape[-1], weights[0].dtype if is_cast else dtype, input.device)
        check_distributed(input, weights)
    if h_0 is None:
        return layout, hidden_size, False
    shapes = tuple((layout.states(), each, hidden_size) for each in (batch, 1))
    check_state(h_0, "h_0", "[L*D, B, H]", shapes, input, is_cast)
    return layout, hidden_size, bool(h_0.shape[1] != batch)


def _check_frozen(input: Tensor, weights: FrozenWeights) -> None:
    if input.dtype is not weights.dtype or input.device != weights.device:
        raise ArgumentTypeError(
            f"input of a frozen layer must be {weights.dtype} on {weights.device} as the layer is, "
            f"got {input.dtype} on {input.device}"
        )
    if input.shape[-1] != weights.input_size:
        raise ArgumentError(f"input must have I = {weights.input_size} features, got {list(input.shape)}")


def _run_frozen(call: Call, weights: FrozenWeights, options: Options) -> tuple[Tensor, Tensor]:
    """A checked call of a frozen layer, in which `call` has no weights."""
    input, h_0, _, _, modifiers = call  # the compiler of torch 2.6 does not iterate over `call.modifiers`
    named_tensors = [("input", input), ("h_0", h_0), *zip(Modifiers._fields, modifiers, strict=True)]
    # It records plain operations, which have a gradient.
    refuses_gradients = torch.is_grad_enabled() and not is_recorded()
    for name, tensor in named_tensors:
        if tensor is not None and ((refuses_gradients and tensor.requires_grad) or has_tangent(tensor)):
            raise ArgumentError(
                f"{name} requires a gradient, and a frozen layer computes none: call it under torch.no_grad(), pass "
                f"{name}.detach(), or train the layer that `thaw()` gives"
            )
    if options.dropout and weights.layout.num_layers > 1:
        raise ArgumentError("dropout acts while training, and a frozen layer does not train: call its eval()")
    if torch.compiler.is_compiling():
        return tracing_frozen.run(call, weights, options.formula, options.backend)
    if is_recorded():
        return _compute(call._replace(weights=weights.dequantized()), weights.layout, options)
    problem = _problem(call, weights.layout, options)._replace(rounds_rows=weights.rounds_rows)
    found: tuple[Tensor, Tensor] = named(weights.run, problem, call) if is_profiled() else weights.run(problem, call)
    return found


def _run_by_layer(call: Call, layout: Layout, options: Options) -> tuple[Tensor, ...]:
    """A checked call with dropout between the layers, or one that returns the states of all layers."""
    outputs, h_n = _layer_by_layer(call, layout, options)
    if not options.states:
        return outputs[-1], h_n
    states = [output.unflatten(-1, (layout.directions(), -1)) for output in outputs]
    return outputs[-1], h_n, torch.cat(states, -2)


def _layer_by_layer(call: Call, layout: Layout, options: Options) -> tuple[list[Tensor], Tensor]:
    """The output of each layer, and h_n; with dropout between the layers: torch's, with the same draws, or the caller's."""
    dropout, one = options.dropout, layout._replace(num_layers=1)
    output, outputs, final = call.input, [], []
    for layer in range(layout.num_layers):
        below: Tensor | tuple[Tensor, Tensor] = output
        if layer > 0 and dropout:
            below = dropout(layer, output) if callable(dropout) else F.dropout(output, dropout)
        states = layout.states_of_layer(layer)
        own = call._replace(
            h_0=call.h_0[states],
            weights=call.weights[layout.of_layer(layer)],
            modifiers=call.modifiers.of_states(states),
        )
        if isinstance(below, Tensor):
            output, h_n = _compute(own._replace(input=below), one, options)
        else:
            output, h_n = _each_direction(own, below, one, options)
        outputs.append(output)
        final.append(h_n)
    return outputs, torch.cat(final)


def _each_direction(
    call: Call, inputs: tuple[Tensor, Tensor], layout: Layout, options: Options
) -> tuple[Tensor, Tensor]:
    """One layer with a separate input for each direction."""
    if not isinstance(inputs, tuple) or len(inputs) != layout.directions():
        raise ArgumentTypeError(
            f"dropout must return a tensor, or a tuple of {layout.directions()} (one for each direction), "
            f"got {type(inputs).__name__}"
        )
    results = []
    for direction, input in enumerate(inputs):
        own = call._replace(
            input=input,
            h_0=call.h_0[direction, None],
            weights=call.weights[layout.of_direction(0, direction)],
            modifiers=call.modifiers.of_states(slice(direction, direction + 1)),
        )
        alone = layout._replace(bidirectional=False, reverse=layout.is_reverse(direction))
        results.append(_compute(own, alone, options))
    outputs, states = zip(*results, strict=True)
    return torch.cat(outputs, -1), torch.cat(states)


def _compute(call: Call, layout: Layout, options: Options) -> tuple[Tensor, Tensor]:
    if torch.compiler.is_compiling():
        return tracing.run(call, layout, options.formula, options.backend)
    problem = unrecorded(_problem, call, layout, options)
    if tracing_state() is not None:  # as is_recorded, without its call
        problem = problem._replace(recorded=True)
        _refuse_to_record(problem)
    compute = backends.choose(problem, options.backend).run
    found: tuple[Tensor, Tensor] = named(compute, problem, call) if is_profiled() else compute(problem, call)
    return found


def _refuse_to_record(problem: Problem) -> None:
    reason = aten.refuse_formula(problem)
    if problem.ragged and reason is not None:
        raise BackendError(
            "torch.jit.trace and the legacy ONNX exporter can record a PackedSequence for reset='after' only "
            f"({reason}); record a dense batch, or use torch.export"
        )


def _problem(call: Call, layout: Layout, options: Options) -> Problem:
    input, h_0, weights, batch_sizes, modifiers = call
    needs_grad = requires_gradient(input, h_0, weights if modifiers is NONE else (*weights, *modifiers.present()))
    if options.products is None and input.dtype in HALVES:
        options = options._replace(products=faster_products(input, weights, batch_sizes, needs_grad))
    return tracing.problem_of(call, layout, options, needs_grad, is_transformed(call.tensors()))
