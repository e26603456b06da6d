"""`explain`: which backend computes a call, and why each other one does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from . import backends
from .backends.problem import Problem
from .errors import ArgumentTypeError
from .formula import Formula
from .functional import Options, make_problem
from .layers import GRU, GRUCell
from .sequences import Batch, Lengths, enter


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; prints as a small table."""

    backend: str
    """The backend that computes the call."""
    reasons: Mapping[str, str | None]
    """Each backend's reason for not taking it; None: it could."""
    problem: Problem

    def __str__(self) -> str:
        width = max(map(len, self.reasons))
        lines = []
        for name, reason in self.reasons.items():
            if name == self.backend:
                words = "computes this call"
            else:
                words = f"no: {reason}" if reason else "could, but comes later in order of speed"
            lines.append(f"{name:{width}}  {words}")
        return "\n".join(lines)


def explain(layer: nn.Module, input: Batch, lengths: Lengths | None = None) -> Explanation:
    """Which backend runs `layer(input)`, and why each other one does not.

    Arguments:
        layer: a `GRU` or `GRUCell` of grus or of torch (as `accelerate` would run it).
        input: what the layer would be called with; nothing is computed.
        lengths: as for `GRU.forward`.

    Example:
        >>> print(grus.explain(grus.GRU(3, 4, activation="relu"), torch.randn(5, 2, 3)))  # doctest: +SKIP
    """
    if not isinstance(layer, (GRU, GRUCell, nn.GRU, nn.GRUCell)):
        raise ArgumentTypeError(f"layer must be a GRU or GRUCell of grus or torch, got {type(layer).__name__}")
    if isinstance(layer, (GRUCell, nn.GRUCell)):
        tensors = (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
        weights = [tensor for tensor in tensors if tensor is not None]
        bidirectional = False
    else:
        weights = layer.flat_weights if isinstance(layer, GRU) else [w for w in layer._flat_weights if w is not None]
        bidirectional = layer.bidirectional
    formula = layer.formula if isinstance(layer, (GRU, GRUCell)) else Formula()
    name = layer.backend if isinstance(layer, (GRU, GRUCell)) else None
    options = Options(formula, bidirectional, bool(layer.bias), 0.0, name)

    batch_sizes = None
    if not isinstance(input, Tensor) or input.is_nested or lengths is not None:
        rows = enter(input, lengths, getattr(layer, "batch_first", False))
        input, batch_sizes = rows.data, rows.batch_sizes
    layers = len(weights) // ((2 if bidirectional else 1) * (4 if layer.bias else 2))
    state = torch.empty((1, 1, layer.hidden_size), device="meta")
    problem = make_problem(input, state, weights, batch_sizes, layers, options)
    chosen = backends.choose(problem, name)
    return Explanation(chosen.__name__.rpartition(".")[2], backends.reasons(problem), problem)
