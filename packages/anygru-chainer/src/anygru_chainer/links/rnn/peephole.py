"""LSTMs with a fifth look at their cells, or with states that stay by chance."""

from typing import Any

from ...functions.activations import sigmoid, tanh
from ...functions.arrays import reshape
from ...functions.joining import split_axis
from ...functions.stochastic import zoneout
from ...types import VariableLike
from ...utils import argument
from ...variable import Variable
from ..connection.linear import Linear
from ._stateful import CellStateful, zeros

__all__ = ["StatefulPeepholeLSTM", "StatefulZoneoutLSTM"]


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
    """An LSTM that keeps its state, and whose gates also read the cells, through `peep_i`, `peep_f` and `peep_o`."""

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
    """An LSTM that keeps its state, of which each number stays with a probability when `config.train` (Krueger et al., 2016).

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
