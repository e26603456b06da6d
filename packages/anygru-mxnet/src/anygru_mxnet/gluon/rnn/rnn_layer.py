"""`gluon.rnn.GRU`, `LSTM` and `RNN`: several layers and directions over whole sequences.

Every parameter has the gates in the order of torch and anygru, (r, z, n) and (i, f, g, o). MXNet calls z "input gate".
"""

from typing import Any

from anygru import layers
from anygru.extend import Weights, not_covered

from ...base import DtypeLike
from ...initializer import Initial
from .gru_cell import GRUCell
from .other_cells import LSTMCell, RNNCell
from .recurrent_cell import HybridRecurrentCell
from .recurrent_layer import RecurrentLayer

__all__ = ["GRU", "LSTM", "RNN"]

_RNNLayer = RecurrentLayer


class GRU(RecurrentLayer):
    """A gated recurrent unit over sequences; the reset gate acts after the product, as in cuDNN.

    Args:
        hidden_size: hidden size H.
        num_layers: layers, L.
        layout: "TNC" or "NTC": the axes of inputs and outputs.
        dropout: probability of zeroing an element between layers in training.
        bidirectional: whether a second direction reads from the end (then D = 2).
        input_size: features of an input, C; 0 waits for the first input.
        i2h_weight_initializer, h2h_weight_initializer: initializers of the weights; names or objects.
        i2h_bias_initializer, h2h_bias_initializer: initializers of the biases.
        dtype: of the parameters.
        use_sequence_length: whether calls take the lengths of the sequences as a third argument.
        prefix, params: as for `Block`.

    A call takes inputs [T, N, C] (or [N, T, C]) and states [L*D, N, H], alone or in a list. Without states it returns the output
    [T, N, D*H], with states `(output, [state])`.

    Raises:
        AssertionError: for an unknown layout.
        ValueError: when called with a state of another shape.
        MXNetError: when called with inputs of another size or dtype.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        dtype: DtypeLike = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "gru",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            dtype,
            projection_size=None,
            **kwargs,
        )

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        return GRUCell(self._hidden_size, **options)

    def __to_anygru__(self) -> layers.GRU:
        """An `anygru.GRU` on the same memory: training either trains both.

        Raises:
            RuntimeError: before `initialize()`, or on several contexts.
            DeferredInitializationError: before the input size is known.
        """
        tensors = [self._reg_params[key].data()._t.detach().requires_grad_() for key in self._keys]
        return layers.GRU.around(
            Weights.of(tensors, bidirectional=self._dir == 2),
            batch_first=self._layout == "NTC",
            dropout=float(self._dropout),
        )


class LSTM(RecurrentLayer):
    """Long short-term memory over sequences. Arguments and calls as in `GRU`, with two states: outputs and cells.

    Args:
        projection_size: features of the output; None means no projection.
        h2r_weight_initializer: initializer of the weight of that projection.
        state_clip_min, state_clip_max, state_clip_nan: not covered, as in MXNet on the CPU.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Initial = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DtypeLike = "float32",
        **kwargs: Any,
    ) -> None:
        if state_clip_min is not None or state_clip_max is not None or state_clip_nan:
            raise not_covered("mxnet.gluon.rnn.LSTM(state_clip_*=...)", "clip the states at each step")
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            dtype,
            projection_size=projection_size,
            h2r_weight_initializer=h2r_weight_initializer,
            **kwargs,
        )

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        return LSTMCell(self._hidden_size, **options)


class RNN(RecurrentLayer):
    """A recurrent network without gates over sequences. Arguments and calls as in `GRU`.

    Args:
        activation: "relu" or "tanh".
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        input_size: int = 0,
        dtype: DtypeLike = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            f"rnn_{activation}",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            dtype,
            **kwargs,
        )

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        return RNNCell(self._hidden_size, activation=self._mode.removeprefix("rnn_"), **options)
