"""The minimal gated unit (Zhou et al., 2016): a GRU with one gate."""

from ...configuration import config
from ...functions.activations import sigmoid, tanh
from ...functions.arithmetic import linear_interpolate
from ...functions.joining import concat
from ...link import Chain
from ...types import VariableLike
from ...variable import Variable
from ..connection.linear import Linear
from ._stateful import Stateful

__all__ = ["StatefulMGU", "StatelessMGU"]


class MGUBase(Chain):
    """Two linear links on the concatenation of state and input: W_f for the gate, W_h for the candidate."""

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_f = Linear(n_inputs + n_units, n_units)
            self.W_h = Linear(n_inputs + n_units, n_units)

    def _call_mgu(self, h: VariableLike, x: VariableLike) -> Variable:
        f = sigmoid(self.W_f(concat([h, x])))
        candidate = tanh(self.W_h(concat([f * h, x])))
        return linear_interpolate(f, candidate, h)


class StatelessMGU(MGUBase):
    """One step of a minimal gated unit, from a state that the caller keeps."""

    def forward(self, h: VariableLike, x: VariableLike) -> Variable:
        """The state [B, N] after x [B, I] from h [B, N]."""
        return self._call_mgu(h, x)


class StatefulMGU(Stateful, MGUBase):
    """A minimal gated unit that keeps its state `h`."""

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__(in_size, out_size)
        self._state_size = out_size
        self.reset_state()

    def forward(self, x: VariableLike) -> Variable:
        """The new state after x."""
        h = self.h
        if h is None:
            h = Variable(self.xp.zeros((x.shape[0], self._state_size), dtype=config.dtype))
        self.h = self._call_mgu(h, x)
        return self.h
