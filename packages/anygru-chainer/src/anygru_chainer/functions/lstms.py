"""Steps of LSTMs from what enters their units: one after the other, and over trees."""

from collections.abc import Sequence

import torch

from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._checks import Type, expect
from ._rows import Tensor, function
from .arrays import reshape
from .joining import stack
from .products import linear

__all__ = ["lstm", "slstm", "tree_lstm"]


def _gates(x: Tensor) -> tuple[Tensor, ...]:
    """The gates of Chainer's layout, in which the units' gates lie side by side: a, i, f, o of unit 0, of unit 1, ..."""
    return x.reshape(x.shape[0], x.shape[1] // 4, 4, *x.shape[2:]).unbind(2)


def _cell_and_gates(node: object, c: Type, x: Type) -> None:
    expect(c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, x.ndim >= 2, c.ndim == x.ndim)
    expect(x.shape[0] <= c.shape[0], x.shape[1] == 4 * c.shape[1])
    expect(*[x.shape[axis] == c.shape[axis] for axis in range(2, type_check.eval(c.ndim))])


@function("LSTM", _cell_and_gates)
def lstm(c_prev: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the cells [B, N, ...] and the outputs after `c_prev` [B, N, ...].

    Args:
        x: what enters the units [B', 4N, ...]: for each unit candidate, input gate, forget gate and output gate. Where B' is
            less than B, the other cells stay.
    """
    a, i, f, o = _gates(x)
    c = a.tanh() * i.sigmoid() + f.sigmoid() * c_prev[: len(x)]
    return torch.cat((c, c_prev[len(x) :])), o.sigmoid() * c.tanh()


def _lstm(
    x: VariableLike, h: VariableLike, c: VariableLike, w: Sequence[VariableLike], b: Sequence[VariableLike]
) -> tuple[Variable, Variable]:
    """The outputs and cells after one step of a layer with an n-step LSTM's matrices and biases; public programs use it."""

    def side_by_side(parts: Sequence[VariableLike]) -> Variable:
        # From input, forget, candidate, output to candidate, input, forget, output, as `lstm` has them.
        stacked = stack([parts[gate] for gate in (2, 0, 1, 3)], axis=1)
        return reshape(stacked, (-1, *stacked.shape[2:]))

    upward = linear(x, side_by_side(w[:4]), side_by_side(b[:4]))
    c, h = lstm(c, upward + linear(h, side_by_side(w[4:]), side_by_side(b[4:])))
    return h, c


def _cells_and_gates(node: object, c1: Type, c2: Type, x1: Type, x2: Type) -> None:
    expect(c1.dtype.kind == "f", c2.dtype == c1.dtype, x1.dtype == c1.dtype, x2.dtype == c1.dtype)
    expect(c1.ndim >= 2, c1.shape == c2.shape, x1.ndim == c1.ndim, x1.shape == x2.shape)
    expect(x1.shape[0] == c1.shape[0], x1.shape[1] == 4 * c1.shape[1])
    expect(*[x1.shape[axis] == c1.shape[axis] for axis in range(2, type_check.eval(c1.ndim))])


@function("SLSTM", _cells_and_gates)
def slstm(c_prev1: Tensor, c_prev2: Tensor, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """The cells and outputs of a node of a binary tree, from the cells [B, N] of its children and what they give [B, 4N]."""
    (a1, i1, f1, o1), (a2, i2, f2, o2) = _gates(x1), _gates(x2)
    c = a1.tanh() * i1.sigmoid() + a2.tanh() * i2.sigmoid() + f1.sigmoid() * c_prev1 + f2.sigmoid() * c_prev2
    return c, (o1 + o2).sigmoid() * c.tanh()


def _children(node: object, *inputs: Type) -> None:
    *cells, x = inputs
    type_check.expect(len(cells) >= 1)
    for c in cells:
        expect(c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, x.ndim == c.ndim, x.shape[0] == c.shape[0])
        expect(x.shape[1] == (3 + len(cells)) * c.shape[1])


@function("TreeLSTM", _children)
def tree_lstm(*inputs: Tensor) -> tuple[Tensor, Tensor]:
    """The cells and outputs of a node of a tree: called as `tree_lstm(c1, ..., cK, x)`.

    x is [B, (3 + K) N, ...]: candidates, input gates, output gates and the K forget gates of all units (Tai et al., 2015).
    """
    *cells, x = inputs
    a, i, o, *forget = x.chunk(3 + len(cells), 1)
    c = a.tanh() * i.sigmoid() + sum(f.sigmoid() * old for f, old in zip(forget, cells, strict=True))
    return c, o.sigmoid() * c.tanh()
