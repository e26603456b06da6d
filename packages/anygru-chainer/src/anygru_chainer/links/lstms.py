"""LSTMs that run step by step, with peepholes or zoneout, and over trees."""

from collections.abc import Sequence
from typing import Any

from .. import function_hook, initializers
from ..functions.activations import sigmoid, tanh
from ..functions.arrays import reshape
from ..functions.joining import concat, split_axis
from ..functions.recurrent import lstm, lstm_step, tree_lstm
from ..functions.stochastic import zoneout
from ..link import Chain
from ..types import InitializerSpec, NdArray, VariableLike
from ..utils import argument
from ..utils.helpers import size_of_shape
from ..variable import Variable
from .dense import Linear
from .grus import CellStateful, zeros

__all__ = ["ChildSumTreeLSTM", "LSTM", "NaryTreeLSTM", "StatefulPeepholeLSTM", "StatefulZoneoutLSTM", "StatelessLSTM"]


class LSTMBase(Chain):
    """Two linear links: `upward` on the input, and `lateral`, without a bias, on the output of the step before.

    Args:
        in_size: optional size of an input; None: taken from the first input.
        out_size: N, size of the cells and the outputs.
        lateral_init, upward_init: initializer of each gate's matrix, LeCunNormal by default.
        bias_init: 0 for the biases of candidate, input gate and output gate.
        forget_bias_init: 1 for the biases of the forget gate.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        lateral_init: InitializerSpec = None,
        upward_init: InitializerSpec = None,
        bias_init: InitializerSpec = None,
        forget_bias_init: InitializerSpec = None,
    ) -> None:
        size: Any = in_size if out_size is None else out_size
        in_size = None if out_size is None else in_size
        super().__init__()
        self.state_size = size
        self.lateral_init = lateral_init
        self.upward_init = upward_init
        self.bias_init = 0 if bias_init is None else bias_init
        self.forget_bias_init = 1 if forget_bias_init is None else forget_bias_init
        with self.init_scope():
            self.upward = Linear(in_size, 4 * size, initialW=0)
            self.lateral = Linear(size, 4 * size, initialW=0, nobias=True)
            if in_size is not None:
                self._initialize_params()

    def _initialize_params(self) -> None:
        n = self.state_size
        lateral, upward, bias, forget = (
            initializers.get_initializer(initial)
            for initial in (self.lateral_init, self.upward_init, self.bias_init, self.forget_bias_init)
        )
        for start in range(0, 4 * n, n):
            lateral(self.lateral.W.array[start : start + n, :])
            upward(self.upward.W.array[start : start + n, :])
        # The layout is unit by unit, and an initializer gets one gate of all units as [1, N, 1], as in Chainer (7.8.1,
        # `links/rnn/lstm.py`, read), because initializers may read the shape.
        gates: NdArray = self.upward.b.array.reshape(1, n, 4, 1)
        for gate, initializer in enumerate((bias, bias, forget, bias)):
            initializer(gates[:, :, gate])

    def _step(self, c: VariableLike, h: VariableLike, x: VariableLike) -> Any:
        """The cells and outputs after x, by one function unless a hook observes links or functions."""
        upward, lateral = self.upward, self.lateral
        if x.ndim > 2:
            x = x.reshape(x.shape[0], -1)
        alike = c.shape[0] == x.shape[0] and upward.b is not None and lateral.b is None
        if alike and function_hook.may_join((upward, lateral), Linear, x.dtype):
            return lstm_step(c, x, [upward.W, upward.b], [] if h is None else [h, lateral.W])
        sums = upward(x)
        return lstm(c, sums if h is None else sums + lateral(h))

    def _prepare(self, x: VariableLike) -> None:
        if self.upward.W.array is None:
            self.upward._initialize_params(size_of_shape(x.shape[1:]))
            self._initialize_params()


class StatelessLSTM(LSTMBase):
    """One step of an LSTM, from a state that the caller keeps; see `LSTMBase` for the arguments."""

    def forward(self, c: VariableLike, h: VariableLike, x: VariableLike) -> tuple[Variable, Variable]:
        """The cells and outputs [B, N] after x [B, I] from c and h [B, N], each None at the start."""
        self._prepare(x)
        return self._step(zeros(self, x) if c is None else c, h, x)


class LSTM(CellStateful, LSTMBase):
    """An LSTM that keeps its cells `c` and outputs `h`; see `LSTMBase` for the arguments.

    A batch may be smaller than the previous batch: the states of the sequences at the end then do not change.
    """

    def forward(self, x: VariableLike) -> Variable:
        """The outputs [B, N] after x [B, I] (TypeError if the batch is larger than the previous batch)."""
        self._prepare(x)
        batch = x.shape[0]
        before, rest = (None, None) if self.h is None else self._split(batch)
        self.c, y = self._step(zeros(self, x) if self.c is None else self.c, before, x)
        if rest is None:
            self.h = y
        else:
            self.h = concat([y, rest], axis=0) if batch else rest
        return y

    def _split(self, batch: int) -> tuple[Variable | None, Variable | None]:
        """h split into continuing and finished sequences; None for an empty part."""
        size = self.h.shape[0]
        if batch == 0:
            return None, self.h
        if size < batch:
            raise TypeError("The batch size of x must be equal to or less than the size of the previous state h.")
        return split_axis(self.h, [batch], axis=0) if size > batch else (self.h, None)


class GatedLSTM(CellStateful):
    """Linear links `upward` on the input and, without a bias, `lateral` on the output of the step before."""

    def __init__(self, in_size: int | None, out_size: int) -> None:
        super().__init__()
        self.state_size = out_size
        with self.init_scope():
            self.upward = Linear(in_size, 4 * out_size)
            self.lateral = Linear(out_size, 4 * out_size, nobias=True)

    def _gates(self, x: VariableLike) -> list[Variable]:
        """Candidate, input gate, forget gate and output gate [B, N] before their activation."""
        total = self.upward(x)
        if self.h is not None:
            total += self.lateral(self.h)
        if self.c is None:
            self.c = zeros(self, x)
        parts = split_axis(reshape(total, (len(total), self.state_size, 4)), 4, 2)
        return [reshape(part, part.shape[:2]) for part in parts]


class StatefulPeepholeLSTM(GatedLSTM):
    """An LSTM that keeps its state; its gates also read the cells, through `peep_i`, `peep_f` and `peep_o`."""

    def __init__(self, in_size: int | None, out_size: int) -> None:
        super().__init__(in_size, out_size)
        with self.init_scope():
            self.peep_i = Linear(out_size, out_size, nobias=True)
            self.peep_f = Linear(out_size, out_size, nobias=True)
            self.peep_o = Linear(out_size, out_size, nobias=True)

    def forward(self, x: VariableLike) -> Variable:
        """The outputs [B, N] after x [B, I]."""
        a, i, f, o = self._gates(x)
        i, f = sigmoid(i + self.peep_i(self.c)), sigmoid(f + self.peep_f(self.c))
        self.c = tanh(a) * i + f * self.c
        self.h = sigmoid(o + self.peep_o(self.c)) * tanh(self.c)
        return self.h


class StatefulZoneoutLSTM(GatedLSTM):
    """An LSTM that keeps its state; when `config.train`, each number keeps its old value with a probability (Krueger et
    al., 2016).

    Args:
        c_ratio, h_ratio: probability for a cell and for an output.

    Raises:
        ValueError: a keyword of an earlier release.
    """

    def __init__(
        self, in_size: int | None, out_size: int, c_ratio: float = 0.5, h_ratio: float = 0.5, **kwargs: Any
    ) -> None:
        argument.check_unexpected_kwargs(
            kwargs, train="train argument is not supported anymore. Use chainer.using_config"
        )
        argument.assert_kwargs_empty(kwargs)
        super().__init__(in_size, out_size)
        self.c_ratio = c_ratio
        self.h_ratio = h_ratio

    def forward(self, x: VariableLike) -> Variable:
        """The outputs [B, N] after x [B, I]."""
        a, i, f, o = self._gates(x)
        if self.h is None:
            self.h = zeros(self, x)
        c = tanh(a) * sigmoid(i) + sigmoid(f) * self.c
        self.c = zoneout(self.c, c, self.c_ratio)
        self.h = zoneout(self.h, sigmoid(o) * tanh(c), self.h_ratio)
        return self.h


class TreeLSTMBase(Chain):
    """Called with the children's cells, their outputs, and the node's input; None means zeros."""

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
            raise AssertionError(
                f"cells, outputs in the same number, and one input are needed, got {len(cshsx)} arguments"
            )
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
    """A node of `n_ary` children in order, with separate matrices for each child: `link(c1, ..., cK, h1, ..., hK, x)`.

    As in Bowman et al. (2016), each forget gate also has a separate matrix on the input.

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
