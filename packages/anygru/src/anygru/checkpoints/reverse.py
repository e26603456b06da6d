"""A GRU that reads backwards, which ONNX and Keras have and torch has not."""

from typing import Any

from torch import Tensor

from ..facts.decays import PerStep
from ..facts.sequences import Batch, Lengths
from ..functional import gru
from ..layers.gru import GRU


class ReverseGRU(GRU):
    """A GRU whose only direction reads each sequence from its last step to its first: ONNX's direction="reverse" and Keras's
    go_backwards=True. Outputs are in the order of the input."""

    def forward(
        self,
        input: Batch,
        h_0: Tensor | None = None,
        lengths: Lengths | None = None,
        resets: PerStep | None = None,
        decay: PerStep | None = None,
        return_states: bool = False,
        reset_states: PerStep | None = None,
    ) -> tuple[Any, ...]:
        """As `GRU.forward`; h_n is the state after the first step."""
        return gru(
            input,
            h_0,
            self.flat_weights,
            lengths=lengths,
            batch_first=self.batch_first,
            bias=self.bias,
            dropout=self.dropout,
            training=self.training,
            reverse=True,
            resets=resets,
            decay=decay,
            return_states=return_states,
            reset_states=reset_states,
            reset=self.reset,
            gate_activation=self.gate_activation,
            activation=self.activation,
            backend=self.backend,
        )
