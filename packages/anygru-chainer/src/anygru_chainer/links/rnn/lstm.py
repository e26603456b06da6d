"""LSTMs that run step by step."""

from typing import Any

from ... import function_hook
from ...functions.joining import concat, split_axis
from ...functions.lstms import lstm, lstm_step
from ...initializers import fillers
from ...link import Chain
from ...types import InitializerSpec, NdArray, VariableLike
from ...utils.array import size_of_shape
from ...variable import Variable
from ..connection.linear import Linear
from ._stateful import CellStateful, zeros

__all__ = ["LSTM", "StatelessLSTM"]


class LSTMBase(Chain):
    """Two linear links: `upward` on the input, and `lateral`, without a bias, on the output of the step before.

    Args:
        in_size: size of an input; None to take it from the first one. It may be left out.
        out_size: N, size of the cells and the outputs.
        lateral_init, upward_init: LeCunNormal for the four gates' matrices, one by one in turn.
        bias_init: 0 for the biases of candidate, input gate and output gate.
        forget_bias_init: 1 for those of the forget gate.
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
            fillers.get_initializer(initial)
            for initial in (self.lateral_init, self.upward_init, self.bias_init, self.forget_bias_init)
        )
        for start in range(0, 4 * n, n):
            lateral(self.lateral.W.array[start : start + n, :])
            upward(self.upward.W.array[start : start + n, :])
        # A unit's four gates lie side by side, and an initializer gets a gate of all units as [1, N, 1]: so the
        # original calls it (7.8.1, `links/rnn/lstm.py`, read), and initializers may look at the shape.
        gates: NdArray = self.upward.b.array.reshape(1, n, 4, 1)
        for gate, initializer in enumerate((bias, bias, forget, bias)):
            initializer(gates[:, :, gate])

    def _step(self, c: VariableLike, h: VariableLike, x: VariableLike) -> Any:
        """The cells and outputs after x, by one function unless somebody watches links or functions."""
        upward, lateral = self.upward, self.lateral
        if x.ndim > 2:
            x = x.reshape(x.shape[0], -1)
        alike = c.shape[0] == x.shape[0] and upward.b is not None and lateral.b is None
        if alike and x.dtype == upward.W.dtype and function_hook.nobody_watches((upward, lateral), Linear):
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

    A batch may be smaller than the one before: the states of the sequences at the end then stay as they are.
    """

    def forward(self, x: VariableLike) -> Variable:
        """The outputs [B, N] after x [B, I] (TypeError if the batch is larger than the one before)."""
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
        """The outputs before of the sequences that go on, and those of the others; None for none."""
        size = self.h.shape[0]
        if batch == 0:
            return None, self.h
        if size < batch:
            raise TypeError("The batch size of x must be equal to or less than the size of the previous state h.")
        return split_axis(self.h, [batch], axis=0) if size > batch else (self.h, None)
