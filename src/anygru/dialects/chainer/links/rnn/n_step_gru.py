"""GRUs over whole sequences, computed by `anygru.functional.gru`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from anygru import layers

from ..._tensors import as_tensor
from ...functions import recurrent as rnn
from ...types import VariableLike
from ...utils import argument
from ...variable import Variable
from .n_step_rnn import NStepRNNBase

__all__ = ["NStepBiGRU", "NStepGRU"]


class NStepGRUBase(NStepRNNBase):
    """Each layer has w0 w1 w2 [N, I] on the input and w3 w4 w5 [N, N] on the state, for reset, update, candidate."""

    n_weights = 6

    @property
    def n_cells(self) -> int:
        """Number of state arrays: 1."""
        return 1

    def forward(self, hx: VariableLike, xs: Sequence[VariableLike], **kwargs: Any) -> tuple[Variable, list[Variable]]:
        """The states of a batch of sequences.

        Args:
            hx: initial states [S, B, N] (in both directions [2S, B, N]); None for zeros.
            xs: list or tuple of sequences [L_b, I], in any order (AssertionError for a bare array).

        Returns:
            hy, the states after each sequence's last step, in the shape of hx; and ys, for each sequence the last
            layer's states [L_b, N] (in both directions [L_b, 2N]).

        Raises:
            InvalidType: sizes or dtypes do not fit. IndexError: a sequence has no step, or hx is too small.
            ValueError, TypeError: an unknown keyword.
        """
        argument.check_unexpected_kwargs(
            kwargs, train="train argument is not supported anymore. Use chainer.using_config"
        )
        argument.assert_kwargs_empty(kwargs)
        if not isinstance(xs, (list, tuple)):
            raise AssertionError(f"xs must be a list or tuple of sequences [L, I], got {type(xs)}")
        rnn.check_sequences(xs)
        if hx is None:
            hx = self.init_hx(xs)
        hy, ys = rnn.run(
            rnn.GRU, self.n_layers, self.dropout, (hx,), self.ws, self.bs, xs, self.use_bi_direction, time_major=False
        )
        return hy, list(ys)

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

    def rnn(self, *args: Any) -> Any:
        """The function over time steps behind the link: `functions.n_step_gru`."""
        return rnn.n_step_gru(*args)


class NStepBiGRU(NStepGRUBase):
    """A stacked GRU in both directions; its layers are forward and backward halves in turn."""

    use_bi_direction = True

    def rnn(self, *args: Any) -> Any:
        """The function over time steps behind the link: `functions.n_step_bigru`."""
        return rnn.n_step_bigru(*args)
