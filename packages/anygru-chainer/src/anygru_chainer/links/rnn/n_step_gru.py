"""GRUs over whole sequences, computed by `anygru.functional.gru`."""

from typing import Any

import torch

import anygru
from anygru.extend import Weights

from ...backends._tensors import as_array, as_tensor
from ...functions import _kinds
from .n_step_rnn import NStepRNNBase

__all__ = ["NStepBiGRU", "NStepGRU"]


class NStepGRUBase(NStepRNNBase):
    """Each layer has w0 w1 w2 [N, I] on the input and w3 w4 w5 [N, N] on the state, for reset, update, candidate."""

    kind = _kinds.GRU_KIND

    def __to_anygru__(self) -> "anygru.GRU":
        """An `anygru.GRU` that shares the parameters: afterwards the arrays of w0 ... b5 are rows of the anygru layer's."""
        tensors = []
        for layer in self:
            for names in ("w0 w1 w2", "w3 w4 w5", "b0 b1 b2", "b3 b4 b5"):
                tensors.append(_joined([getattr(layer, name) for name in names.split()]))
        weights = Weights.of(tensors, bidirectional=self.use_bi_direction)
        return anygru.GRU.around(weights, dropout=self.dropout if self.n_layers > 1 else 0.0)


def _joined(parameters: list[Any]) -> torch.nn.Parameter:
    """The values of some parameters in one tensor, whose rows are their arrays from now on."""
    arrays = [parameter.array for parameter in parameters]
    joined = torch.cat([as_tensor(array) for array in arrays])
    for parameter, rows in zip(parameters, joined.split(len(arrays[0])), strict=True):
        parameter.array = as_array(rows)
    return torch.nn.Parameter(joined)


class NStepGRU(NStepGRUBase):
    """A stacked GRU over a list of sequences; see `NStepRNNBase` for the arguments and `forward` for a call.

    r = sigmoid(W0 x + b0 + W3 h + b3)
    z = sigmoid(W1 x + b1 + W4 h + b4)
    c = tanh(W2 x + b2 + r * (W5 h + b5))
    h' = (1 - z) * c + z * h
    """

    use_bi_direction = False


class NStepBiGRU(NStepGRUBase):
    """A stacked GRU in both directions; its layers are forward and backward halves in turn."""

    use_bi_direction = True
