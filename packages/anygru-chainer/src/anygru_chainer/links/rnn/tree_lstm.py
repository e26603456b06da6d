"""LSTMs over trees (Tai et al., 2015): a node's state from those of its children."""

from collections.abc import Sequence
from typing import Any

from ...functions.activations import sigmoid, tanh
from ...functions.joining import concat, split_axis
from ...functions.lstms import tree_lstm
from ...link import Chain
from ...types import VariableLike
from ...variable import Variable
from ..connection.linear import Linear

__all__ = ["ChildSumTreeLSTM", "NaryTreeLSTM"]


class TreeLSTMBase(Chain):
    """Called with the children's cells, as many outputs, and the node's input; each may be None for zeros."""

    in_size: int
    state_size: int

    def _filled(self, cells: Sequence[Any], outputs: Sequence[Any], x: Any) -> Any:
        """The node's input, zeros if it is None (ValueError if all is None)."""
        if x is not None:
            return x
        for known in (*cells, *outputs):
            if known is not None:
                return self.xp.zeros((known.shape[0], self.in_size), dtype=known.dtype)
        raise ValueError("All inputs (cs, hs, x) are None.")

    def _zeros_for_none(self, states: Sequence[Any], x: VariableLike) -> tuple[Any, ...]:
        zeros = self.xp.zeros((x.shape[0], self.state_size), dtype=x.dtype)
        return tuple([zeros if state is None else state for state in states])


class ChildSumTreeLSTM(TreeLSTMBase):
    """A node of any number of children in no order: `link(c1, ..., cK, h1, ..., hK, x)` gives its cells and outputs.

    Args:
        in_size, out_size: size of an input, and of cells and outputs.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_x = Linear(in_size, 4 * out_size)
            self.W_h_aio = Linear(out_size, 3 * out_size, nobias=True)
            self.W_h_f = Linear(out_size, out_size, nobias=True)
        self.in_size = in_size
        self.state_size = out_size

    def forward(self, *cshsx: Any) -> tuple[Variable, Variable]:
        """The cells and outputs [B, N] (AssertionError for an even number of arguments)."""
        if len(cshsx) % 2 == 0:
            raise AssertionError(f"as many cells as outputs and one input are needed, got {len(cshsx)} arguments")
        n = len(cshsx) // 2
        cells, outputs = cshsx[:n], cshsx[n:-1]
        x = self._filled(cells, outputs, cshsx[-1])
        aio, f = split_axis(self.W_x(x), [3 * self.state_size], axis=1)
        if not n:
            a, i, o = split_axis(aio, 3, axis=1)
            c = sigmoid(i) * tanh(a)
            return c, sigmoid(o) * tanh(c)
        outputs = self._zeros_for_none(outputs, x)
        forgets = split_axis(self.W_h_f(concat(outputs, axis=0)), n, axis=0)
        gates = [self.W_h_aio(sum(outputs)) + aio, concat(forgets, axis=1) + concat([f] * n, axis=1)]
        return tree_lstm(*self._zeros_for_none(cells, x), concat(gates, axis=1))


class NaryTreeLSTM(TreeLSTMBase):
    """A node of `n_ary` children in order, each with matrices of its own: `link(c1, ..., cK, h1, ..., hK, x)`.

    As in Bowman et al. (2016), each forget gate also has a matrix of its own on the input.

    Args:
        in_size, out_size: size of an input, and of cells and outputs.
        n_ary: K, number of children (AssertionError below 1).
    """

    def __init__(self, in_size: int, out_size: int, n_ary: int = 2) -> None:
        if n_ary < 1:
            raise AssertionError(f"n_ary must be at least 1, got {n_ary}")
        super().__init__()
        with self.init_scope():
            self.W_x = Linear(in_size, (3 + n_ary) * out_size)
            for child in range(1, n_ary + 1):
                setattr(self, f"W_h{child}", Linear(out_size, (3 + n_ary) * out_size, nobias=True))
        self.in_size = in_size
        self.state_size = out_size
        self.n_ary = n_ary

    def forward(self, *cshsx: Any) -> tuple[Variable, Variable]:
        """The cells and outputs [B, N] (AssertionError for another number of arguments)."""
        if len(cshsx) != 2 * self.n_ary + 1:
            raise AssertionError(f"{2 * self.n_ary + 1} arguments are needed, got {len(cshsx)}")
        cells, outputs = cshsx[: self.n_ary], cshsx[self.n_ary : -1]
        x = self._filled(cells, outputs, cshsx[-1])
        total = self.W_x(x)
        for child, h in enumerate(outputs, 1):
            if h is not None:
                total += getattr(self, f"W_h{child}")(h)
        return tree_lstm(*self._zeros_for_none(cells, x), total)
