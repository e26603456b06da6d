"""Second derivatives, and batches of gradients, for cuDNN's GRU; torch has neither.

torch's node of autograd calls cuDNN forward and backward, in C++. A hook on the node checks, in each backward pass,
whether autograd needs a graph of the gradients or a batch of them. Only then it computes them by `reference.gradients`,
and replaces the node's gradients. The hook holds no tensor: the node keeps the tensors of the call, and refuses tensors
that have changed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor

from ..facts import torch_private
from ..facts.formula import Formula
from ..facts.problem import Call, Problem, are_batched
from ..facts.weights import Layout
from . import reference

_NAMES = ("CudnnRnnBackward0", "MiopenRnnBackward0")
_node: Any = torch_private.current_node
_pass: Any = torch_private.graph_task
"""The node and the number of the running backward pass; where torch lacks them, second derivatives raise torch's error."""
_Grads: TypeAlias = tuple[Tensor | None, ...]
_Result = TypeVar("_Result")


def watch(output: Tensor) -> None:
    """Give second derivatives to the call that computed this output, if it was cuDNN's or MIOpen's."""
    node = output.grad_fn
    # torch's own kernels, which compute what cuDNN does not take, have second derivatives.
    if node is not None and node.name() in _NAMES and _node and _pass:
        node.register_prehook(_before)


def _before(grads: _Grads) -> _Grads | None:
    """Runs before the node's own backward pass, which gets the gradients that this returns; None: those that came."""
    if not torch.is_grad_enabled() and not are_batched(grads):
        return None
    handles: list[Any] = []
    after = partial(_after, grads, _pass(), handles)
    handles.append(_node().register_hook(after))
    # cuDNN takes no batch of gradients, so it gets zeros; its result is not used.
    return tuple(
        None if grad is None else torch.zeros(grad.shape, dtype=grad.dtype, device=grad.device) for grad in grads
    )


def _after(upstream: _Grads, task: int, handles: list[Any], found: _Grads, _: _Grads) -> _Grads | None:
    """Runs after the node's backward pass: the gradients to take the place of those that cuDNN found."""
    handles[0].remove()
    if _pass() != task:  # that pass ended in an error before it came here
        return None
    node, output, h_n = _node(), upstream[0], upstream[1]
    given = h_n if output is None else output
    if given is None:
        return None
    problem, call = _in_own_pass(partial(_read, node), given.device)
    if output is None:
        output = call.input.new_zeros((*call.input.shape[:-1], problem.layout.directions() * call.h_0.shape[2]))
    arriving = (output, torch.zeros_like(call.h_0) if h_n is None else h_n)
    # The node's order is input, weights, h_0 and the state of an LSTM's cells.
    places = (0, len(found) - 2, *range(1, len(found) - 2))
    tracked = [node.next_functions[place][0] is not None for place in places]
    needs = [was_tracked and found[place] is not None for place, was_tracked in zip(places, tracked, strict=True)]
    with torch.autocast(given.device.type, enabled=False):
        instead = reference.gradients(problem, call, arriving, needs, tracked)
    by_place = dict(zip(places, instead, strict=True))
    return tuple(by_place.get(place) for place in range(len(found)))


def _in_own_pass(read: Callable[[], _Result], device: torch.device) -> _Result:
    """The result of a function that runs in another backward pass: torch's checkpoints give a tensor once in each pass."""
    found = []
    with torch.enable_grad():
        probe = torch.zeros((), device=device, requires_grad=True)
        probe.register_hook(lambda _: found.append(read()))
        torch.autograd.grad(probe, probe)  # torch.func.vmap refuses `backward`
    return found[0]


def _read(node: Any) -> tuple[Problem, Call]:
    """The call that a node belongs to, connected to autograd as it was."""
    sizes = node._saved_batch_sizes
    layout = Layout(node._saved_num_layers, node._saved_bidirectional, node._saved_weight_stride0 == 4)
    input = node._saved_input
    problem = Problem(input.device.type, input.dtype, layout, Formula(), bool(sizes), False, True, False)
    batch_sizes = torch.tensor(sizes, dtype=torch.int64, device="cpu") if sizes else None
    return problem, Call(input, node._saved_hx, node._saved_weight, batch_sizes)
