"""The arrays in the graph of `autograd.record`, which are detached together.

After a backward pass MXNet releases the whole graph of its heads. All values in it are constant from then on, for example the
state that a network passes to the next part of a sequence. In torch the tensors stay in the graph.
"""

import threading
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

from torch import Tensor


class _Recorded(Protocol):
    """A recorded array: its values and, for integers, the carrier of its gradients."""

    _t: Tensor
    _carrier: Tensor | None


class _Tape(threading.local):
    def __init__(self) -> None:
        self.arrays: list[weakref.ref] = []
        self.room = 1024


_tape = _Tape()


def remember(array: Any) -> None:
    """Record an array that was computed while recording."""
    _tape.arrays.append(weakref.ref(array))
    if len(_tape.arrays) > _tape.room:
        _tape.arrays = [known for known in _tape.arrays if known() is not None]
        # The limit doubles, so that the removal of dead arrays takes constant time per array.
        _tape.room = 2 * len(_tape.arrays) + 1024


def _nodes(heads: Iterable[Any]) -> set[Any]:
    """The given nodes of torch's graph and all nodes that they depend on."""
    waiting = [node for node in heads if node is not None]
    found: set[Any] = set(waiting)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found.add(node)
                waiting.append(node)
    return found


def _node(array: _Recorded) -> Any:
    """The node of torch's graph that computed an array, or None."""
    return (array._t if array._carrier is None else array._carrier).grad_fn


def _detach(array: _Recorded) -> None:
    array._t = array._t.detach()
    array._carrier = None


def forget(heads: Iterable[_Recorded]) -> None:
    """Detach the heads, and all arrays that they depend on, from the graph."""
    heads = list(heads)
    alive = [array for known in _tape.arrays if (array := known()) is not None and _node(array) is not None]
    nodes = _nodes(_node(head) for head in heads)
    staying = []
    for array in alive:
        if _node(array) in nodes:
            _detach(array)
        else:
            staying.append(weakref.ref(array))
    _tape.arrays = staying
    for head in heads:
        if _node(head) is not None:
            _detach(head)
