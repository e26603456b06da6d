"""LSTMs over whole sequences."""

from collections.abc import Sequence
from typing import Any

from ...functions import _kinds
from ...types import VariableLike
from ...variable import Variable
from .n_step_rnn import NStepRNNBase

__all__ = ["NStepBiLSTM", "NStepLSTM"]


class NStepLSTMBase(NStepRNNBase):
    """Each layer has w0 ... w3 on the input and w4 ... w7 on the state, for input, forget, candidate and output."""

    kind = _kinds.LSTM_KIND

    def forward(  # type: ignore[override]
        self, hx: VariableLike, cx: VariableLike, xs: Sequence[VariableLike], **kwargs: Any
    ) -> tuple[Variable, Variable, list[Variable]]:
        """hy, cy and ys, for initial outputs hx and cells cx; see `NStepRNNBase.forward`."""
        (hy, cy), ys = self._call((hx, cx), xs, **kwargs)
        return hy, cy, ys


class NStepLSTM(NStepLSTMBase):
    """A stacked LSTM over a list of sequences."""

    use_bi_direction = False


class NStepBiLSTM(NStepLSTMBase):
    """A stacked LSTM in both directions; its layers are forward and backward halves in turn."""

    use_bi_direction = True
