"""Gradients of the weights of a loop over a cell, summed once for many steps.

The share of a step in the gradients of the weights is a product of few rows, and as large as the weights. Autograd would write
one for every step, and then add them all: with 256 hidden units most of a training step's time. So from the second step of
a graph on, the gradients do not go from each step to the weights. Every step of the loop is connected to one node, the anchor,
and the anchor to the weights. A step leaves the rows of its product with the anchor. Autograd calls the anchor when all steps
of the backward pass are done, and the anchor multiplies the rows of all of them at once.

A step finds its loop by the graph of its state, so a loop belongs to one graph: FSDP reduces the gradients that exist when the
graph reaches a module's inputs, and autograd would call the anchor of an earlier graph later than that. The rows belong to one
backward pass: autograd frees them with the pass, even if an error or Ctrl-C interrupts it.

For the weights nothing changes: hooks, `grad`, DDP and `torch.autograd.grad` see the sum, as they always do.
"""

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from ..facts import torch_private
from .cpu_calls import plain, sum_products
from .recorded import versions

MOST_ROWS = 256
"""The number of rows that are collected before a product: enough for its full speed."""
MOST_NODES = 8
"""The number of nodes that a step searches for the previous step: the state may have passed a mask or a dropout."""


class Loop:
    """The steps of one graph that use the same weights. Only they keep it alive."""

    __slots__ = ("__weakref__", "anchor", "kind", "sums", "versions", "weights")

    def __init__(self, weights: Sequence[Tensor], kind: Any) -> None:
        self.weights = tuple(weights)
        self.kind = kind
        self.anchor: Tensor | None = None
        self.versions: list[int] | None = None
        # By backward pass, which alone keeps them alive. The anchor's node must not have the loop, which has the anchor.
        self.sums: WeakValueDictionary[int, _Sums] | None = None

    def fits(self, weights: Sequence[Tensor], kind: Any) -> bool:
        """Whether a step with these weights belongs to the loop."""
        return (
            self.kind is kind
            and len(self.weights) == len(weights)
            and all(map(_is_same, self.weights, weights))
            and all(weight.requires_grad for weight in weights)
            and (self.anchor is None or self.anchor.dtype is weights[0].dtype)
        )

    def is_wanted(self) -> bool:
        """Whether the current backward pass will call the anchor."""
        node = None if self.anchor is None else self.anchor.grad_fn
        return node is not None and torch_private.will_execute is not None and torch_private.will_execute(node)

    def _sums(self) -> "_Sums":
        assert torch_private.graph_task is not None
        assert self.sums is not None
        task = torch_private.graph_task()
        found = self.sums.get(task)
        if found is None:
            found = self.sums[task] = _Sums(self.weights, self.kind)
            assert torch_private.at_end_of_backward is not None
            torch_private.at_end_of_backward(found.finish)
        return found

    def add_rows(self, gates: Tensor, input: Tensor, h: Tensor | None, reserve: Tensor | None) -> None:
        """Leaves a step's rows: gradients of the gates [B, 4H or 3H], input, state and, for reset="before", the reserve."""
        self._sums().add_rows(gates, input, h, reserve)

    def add_gradients(self, gradients: Sequence[Tensor | None]) -> None:
        """Leaves gradients of the weights themselves."""
        self._sums().add_gradients(gradients)


def _is_same(one: Tensor, other: Tensor) -> bool:
    return one is other


def loop_of(weights: Sequence[Tensor], kind: Any, h: Tensor | None) -> Loop | None:
    """The loop that a step belongs to, with an anchor from the second step on; None if a weight is not a leaf."""
    if None in (torch_private.graph_task, torch_private.will_execute, torch_private.at_end_of_backward):
        return None
    loop = None if h is None else _loop_before(h.grad_fn, weights, kind)
    if loop is not None:
        if loop.anchor is None:
            loop.sums = WeakValueDictionary()
            loop.versions = versions(loop.weights)
            loop.anchor = _Anchor.apply(loop.sums, *loop.weights)  # type: ignore[no-untyped-call]
        return loop
    return Loop(weights, kind) if all(weight.is_leaf and weight.requires_grad for weight in weights) else None


def _loop_before(node: Any, weights: Sequence[Tensor], kind: Any) -> Loop | None:
    """The loop of the nearest step in the graph of a state."""
    todo = [node]
    for place in range(MOST_NODES):
        if place == len(todo):
            break
        node = todo[place]
        loop: Loop | None = getattr(node, "loop", None)  # the node of a step, in Python
        if loop is not None and loop.fits(weights, kind):
            return loop
        if node is not None and len(todo) < MOST_NODES:
            todo += [following for following, _ in node.next_functions]
    return None


class _Anchor(torch.autograd.Function):
    """The node between the steps of a loop and its weights. Its output has no elements."""

    @staticmethod
    def forward(ctx: Any, sums: "WeakValueDictionary[int, _Sums]", *weights: Tensor) -> Tensor:
        ctx.sums, ctx.count = sums, len(weights)
        ctx.set_materialize_grads(False)
        return weights[0].new_empty(0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, ...]:
        own = None if torch_private.graph_task is None else ctx.sums.pop(torch_private.graph_task(), None)
        return None, *([None] * ctx.count if own is None else own.gradients())


class _Sums:
    """Gradients of the weights in one backward pass: rows that still wait for their product, and sums of finished products."""

    def __init__(self, weights: Sequence[Tensor], kind: Any) -> None:
        self.kind = kind
        self.weights = weights
        self.rows = 0
        self.terms: list[list[Tensor]] = []
        self.sums: list[Tensor] = []
        self.others: list[Tensor | None] = []

    def add_rows(self, gates: Tensor, input: Tensor, h: Tensor | None, reserve: Tensor | None) -> None:
        rows, hidden = gates.shape[0], self.weights[1].shape[1]
        previous = gates.new_zeros((rows, hidden)) if h is None else h
        terms = [gates, input.view(rows, -1), previous.view(rows, hidden)]
        self.terms.append(terms if reserve is None else [*terms, reserve.view(rows, 4 * hidden)])
        self.rows += rows
        if self.rows >= MOST_ROWS:
            self.multiply()

    def add_gradients(self, gradients: Sequence[Tensor | None]) -> None:
        if self.others:
            gradients = [_sum(own, other) for own, other in zip(gradients, self.others, strict=True)]
        self.others = list(gradients)

    def multiply(self) -> None:
        """Adds the products of the rows that wait to the sums."""
        if not self.terms:
            return
        gates, input, previous, *kept = (
            plain(values[0]) if len(values) == 1 else torch.cat(values) for values in zip(*self.terms, strict=True)
        )
        adds = bool(self.sums)
        if not adds:
            self.sums = [torch.empty_like(weight, memory_format=torch.contiguous_format) for weight in self.weights]
        sum_products(self.kind, (input, gates, previous, kept[0] if kept else None), self.sums, adds)
        self.terms, self.rows = [], 0

    def finish(self) -> None:
        """End the backward pass. Autograd's list of callbacks keeps this object alive."""

    def gradients(self) -> list[Tensor | None]:
        """The gradients of all weights."""
        self.multiply()
        found: list[Tensor | None] = [*self.sums]
        if not found:
            return self.others
        return [_sum(own, other) for own, other in zip(found, self.others, strict=True)] if self.others else found


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
