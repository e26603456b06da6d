"""GRUs over whole sequences, computed by `anygru.functional.gru`."""

from typing import Any

import numpy
import torch

from anygru import layers

from ..._tensors import as_tensor
from ...functions import recurrent
from .n_step_rnn import NStepRNNBase

__all__ = ["NStepBiGRU", "NStepGRU"]


class NStepGRUBase(NStepRNNBase):
    """Each layer has w0 w1 w2 [N, I] on the input and w3 w4 w5 [N, N] on the state, for reset, update, candidate."""

    kind = recurrent.GRU_KIND

    def __to_anygru__(self) -> layers.GRU:
        """A `anygru.GRU` that shares the parameters: afterwards the arrays of w0 ... b5 are rows of the anygru layer's."""
        first = self[0].w0.array
        gru = layers.GRU(
            first.shape[1],
            self.out_size,
            self.n_layers,
            dropout=self.dropout if self.n_layers > 1 else 0.0,
            bidirectional=self.use_bi_direction,
            dtype=as_tensor(first).dtype,
            device=as_tensor(first).device,
        )
        for cell, layer in enumerate(self):
            suffix = f"l{cell // self.direction}" + ("_reverse" if cell % self.direction else "")
            for kind, names in (
                ("weight_ih", "w0 w1 w2"),
                ("weight_hh", "w3 w4 w5"),
                ("bias_ih", "b0 b1 b2"),
                ("bias_hh", "b3 b4 b5"),
            ):
                stacked = getattr(gru, f"{kind}_{suffix}").data
                for rows, name in zip(stacked.split(self.out_size), names.split(), strict=True):
                    _share(getattr(layer, name), rows)
        return gru


def _share(parameter: Any, rows: torch.Tensor) -> None:
    """Move a parameter's values into some rows of a tensor and let its array be these rows from now on."""
    array = parameter.array
    rows.copy_(as_tensor(array))
    parameter.array = rows.numpy() if isinstance(array, numpy.ndarray) else type(array)(rows)


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
