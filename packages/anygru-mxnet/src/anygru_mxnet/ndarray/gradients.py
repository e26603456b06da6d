"""Gradients of arrays, by torch's autograd: `mx.autograd.backward`, `mx.autograd.grad` and `x.backward()`."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from anygru import extend

from ..base import MXNetError
from ..operators.flat import flat
from ..state import differentiating
from .array import Array, wrap
from .tape import forget
from .whole import in_graph

if TYPE_CHECKING:
    from .ndarray import NDArray

_NOT_IN_GRAPH = (
    "Cannot differentiate node because it is not in a computational graph. You need to set is_recording to true or use "
    "autograd.record() to save computational graphs for backward. If you want to differentiate the same graph twice, you "
    "need to pass retain_graph=True to backward."
)


def _heads(heads: Any, head_grads: Any) -> tuple[list["NDArray"], list[Tensor], list[Tensor]]:
    """The arrays to differentiate, their tensors, and their upstream gradients, by default ones."""
    if isinstance(heads, Array):
        heads = [heads]
        head_grads = [head_grads] if isinstance(head_grads, Array) else head_grads
    if head_grads is None:
        head_grads = [None] * len(heads)
    assert len(head_grads) == len(heads), (
        f"head_grads must have one array for each of the {len(heads)} heads, got {len(head_grads)}"
    )
    if not heads:
        raise MXNetError("heads must hold at least one array")
    # If an array occurs twice, its last gradient counts (1.9.1, recorded).
    once = {id(head): (head, given) for head, given in zip(heads, head_grads, strict=True)}
    heads, head_grads = zip(*once.values(), strict=True)
    heads_in_torch, seeds = [], []
    for head, given in zip(heads, head_grads, strict=True):
        tensor = in_graph(head)
        if not tensor.requires_grad:
            raise MXNetError(_NOT_IN_GRAPH)
        seed = torch.ones_like(head._t) if given is None else given._t.detach()
        if seed.shape != head._t.shape:
            raise MXNetError(f"a head gradient must have its head's shape {head.shape}, got {tuple(seed.shape)}")
        heads_in_torch.append(tensor)
        # The gradient of an array of integers flows through its float64 carrier.
        seeds.append(seed.to(tensor.dtype))
    return list(heads), heads_in_torch, seeds


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Store the gradients of the heads in all variables that they depend on.

    Args:
        heads: array or list of arrays.
        head_grads: gradients with respect to the heads; ones by default.
        retain_graph: keep the graph for another call.
        train_mode: False computes gradients as in prediction, for example BatchNorm's with running averages.

    Raises:
        MXNetError: for heads without a graph, and after an earlier `backward` through the same graph.
    """
    arrays, tensors, seeds = _heads(heads, head_grads)
    try:
        with differentiating(train_mode):
            extend.backward(tensors, seeds, retain_graph)
    except MXNetError:
        raise
    except RuntimeError as error:
        raise MXNetError(f"{_NOT_IN_GRAPH} ({error})" if extend.is_release(error) else str(error)) from error
    if not retain_graph:
        forget(arrays)


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list["NDArray"]:
    """The gradients of the heads with respect to variables, as new arrays; with `create_graph` they can be differentiated.

    Raises:
        MXNetError: for heads without a graph, for variables without `attach_grad`, and for variables that no head depends on.
    """
    arrays, tensors, seeds = _heads(heads, head_grads)
    wanted = [variables] if isinstance(variables, Array) else list(variables)
    assert wanted, "variables must hold at least one array"
    roots = [in_graph(variable) for variable in wanted]
    for place, root in enumerate(roots, 1):
        if not (root.requires_grad and root.is_leaf):
            raise MXNetError(
                f"Cannot differentiate with respect to the {place}-th variable because it does not require gradient."
            )
    retain = create_graph if retain_graph is None else retain_graph
    try:
        with differentiating(train_mode):
            found = extend.gradients(tensors, roots, seeds, retain, create_graph)
    except RuntimeError as error:
        raise MXNetError(str(error)) from error
    reached = [values for values in found if values is not None]
    for place, values in enumerate(found, 1):
        if values is None:
            raise MXNetError(
                f"Cannot differentiate with respect to the {place}-th variable because it is unreachable from the outputs."
            )
    if not retain:
        forget(arrays)
    if create_graph:
        # The gradient of a linear function is constant; its own gradient is zero, not missing.
        reached = [values if values.requires_grad else flat(_filled(values), *roots) for values in reached]
    pairs = zip(reached, wanted, strict=True)
    return [wrap(values.to(variable._t.dtype), variable._ctx) for values, variable in pairs]


def _filled(values: Tensor) -> Tensor:
    """Allocate the values: torch's autograd can return zeros without memory."""
    return torch.zeros_like(values) if values._is_zerotensor() else values
