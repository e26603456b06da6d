"""Recurrent links over whole sequences: tanh and ReLU layers, GRUs and LSTMs."""

from collections.abc import Sequence
from typing import Any

import numpy
import torch

import anygru
from anygru.extend import Weights

from .. import initializers
from ..backends._tensors import as_array, as_tensor
from ..functions import _n_step
from ..functions import _n_step as _kinds
from ..functions._n_step import longest_first
from ..functions.arrays import cast
from ..link import ChainList, Link
from ..types import InitializerSpec, VariableLike
from ..utils import argument
from ..variable import Parameter, Variable

__all__ = [
    "NStepBiGRU", "NStepBiLSTM", "NStepBiRNNReLU", "NStepBiRNNTanh", "NStepGRU", "NStepLSTM", "NStepRNNReLU",
    "NStepRNNTanh",
]  # fmt: skip


def argsort_list_descent(lst: Sequence[Any]) -> numpy.ndarray:
    """Where to find the sequences of a list, the longest first: indices (int32)."""
    return numpy.array(longest_first([len(x) for x in lst]), numpy.int32)


def permutate_list(lst: Sequence[Any], indices: Sequence[int] | numpy.ndarray, inv: bool) -> list[Any]:
    """The items of a list in the order of `indices`, or, with `inv`, restored from this order."""
    if not inv:
        return [lst[i] for i in indices]
    restored = [None] * len(lst)
    for i, item in zip(indices, lst, strict=False):
        restored[i] = item
    return restored


def _in_one_dtype(xs: Sequence[VariableLike]) -> list[VariableLike]:
    """The sequences in the dtype of the longest one, in which Chainer copies them (7.8.1, `transpose_sequence`, recorded)."""
    dtype = xs[longest_first([len(x) for x in xs])[0]].dtype
    return [x if x.dtype == dtype else cast(x, dtype) for x in xs]


class NStepRNNBase(ChainList):
    """A list of layers, each a Link with parameters w0, b0, w1, b1, ...; `ws` and `bs` hold them as nested lists.

    Args:
        n_layers: S, number of layers.
        in_size: I, size of an input.
        out_size: N, size of a state.
        dropout: probability of dropping values between one layer and the next, when `config.train`.
        initialW: initializer of the matrices, LeCunNormal by default.
        initial_bias: initializer of the biases, 0 by default.

    Raises:
        ValueError: a keyword of an earlier release. TypeError: any other unknown keyword.
    """

    kind: _kinds.Kind
    n_weights: int
    """Number of matrices of a layer; also read from the class."""
    use_bi_direction: bool
    ws: list[list[Parameter]]
    bs: list[list[Parameter]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "kind"):
            cls.n_weights = cls.kind.n_weights

    def __init__(
        self,
        n_layers: int,
        in_size: int,
        out_size: int,
        dropout: float,
        *,
        initialW: InitializerSpec = None,
        initial_bias: InitializerSpec = None,
        **kwargs: Any,
    ) -> None:
        argument.check_unexpected_kwargs(
            kwargs,
            use_cudnn="use_cudnn argument is not supported anymore. Use chainer.using_config",
            use_bi_direction="use_bi_direction is not supported anymore",
            activation="activation is not supported anymore",
        )
        argument.assert_kwargs_empty(kwargs)
        direction = 2 if self.use_bi_direction else 1
        matrix = initializers.get_initializer(initialW)
        bias = initializers.get_initializer(0 if initial_bias is None else initial_bias)
        layers = []
        for layer in range(n_layers):
            below = in_size if layer == 0 else out_size * direction
            # The order of the draws, layer by layer and matrix before bias, determines the values for a seed.
            layers += [self._make_layer(below, out_size, matrix, bias) for _ in range(direction)]
        super().__init__(*layers)
        self._collect_parameters()
        self.n_layers = n_layers
        self.dropout = dropout
        self.out_size = out_size
        self.direction = direction

    def _make_layer(self, in_size: int, out_size: int, matrix: InitializerSpec, bias: InitializerSpec) -> Link:
        layer = Link()
        with layer.init_scope():
            for j in range(self.n_weights):
                columns = in_size if j < self.n_weights // 2 else out_size
                setattr(layer, f"w{j}", Parameter(matrix, (out_size, columns)))
                setattr(layer, f"b{j}", Parameter(bias, out_size))
        return layer

    def _collect_parameters(self) -> None:
        self.ws = [[getattr(layer, f"w{j}") for j in range(self.n_weights)] for layer in self]
        self.bs = [[getattr(layer, f"b{j}") for j in range(self.n_weights)] for layer in self]

    def copy(self, mode: str = "share") -> Any:
        """A copy with its own `ws` and `bs`; `mode` as in `Link.copy`."""
        copied = super().copy(mode)
        copied._collect_parameters()
        return copied

    def init_hx(self, xs: Sequence[VariableLike]) -> Variable:
        """Initial states of zeros [S, B, N] (in both directions [2S, B, N]) for a batch of sequences."""
        shape = (self.n_layers * self.direction, len(xs), self.out_size)
        return Variable(self._device.xp.zeros(shape, dtype=xs[0].dtype))

    n_cells = property(lambda self: self.kind.n_states, doc="Number of state arrays that the link takes and gives.")

    def rnn(self, n_layers: int, dropout: float, *args: Any) -> tuple[Any, ...]:
        """The function over time steps that the link calls, such as `functions.n_step_gru`."""
        *states, ws, bs, xs = args
        stack = _n_step.Stack(self.kind, n_layers, dropout, self.use_bi_direction, time_major=True)
        return _n_step.run(stack, states, ws, bs, xs)

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
        (hy,), ys = self._call((hx,), xs, **kwargs)
        return hy, ys

    def _call(
        self, states: Sequence[VariableLike], xs: Sequence[VariableLike], **kwargs: Any
    ) -> tuple[tuple[Variable, ...], list[Variable]]:
        if kwargs:
            train = "train argument is not supported anymore. Use chainer.using_config"
            argument.parse_kwargs(kwargs, train=train)
        if not isinstance(xs, (list, tuple)):
            raise AssertionError(f"xs must be a list or tuple of sequences [L, I], got {type(xs)}")
        mixed = False
        for i, x in enumerate(xs):
            if not hasattr(x, "shape") and not hasattr(x, "__len__"):
                raise TypeError(f"xs[{i}] must be an array or a Variable, got {type(x)}")
            mixed |= getattr(x, "dtype", None) != getattr(xs[0], "dtype", None)
        if mixed:
            xs = _in_one_dtype(xs)
        states = list(states)
        for i, state in enumerate(states):
            states[i] = self.init_hx(xs) if state is None else state
        stack = _n_step.Stack(self.kind, self.n_layers, self.dropout, self.use_bi_direction, time_major=False)
        *finals, ys = _n_step.run(stack, states, self.ws, self.bs, xs)
        return tuple(finals), list(ys)


class NStepRNNTanh(NStepRNNBase):
    """A stacked recurrent layer over a list of sequences: h' = tanh(W0 x + b0 + W1 h + b1)."""

    kind = _kinds.TANH_KIND
    use_bi_direction = False


class NStepRNNReLU(NStepRNNBase):
    """As `NStepRNNTanh`, with relu instead of tanh."""

    kind = _kinds.RELU_KIND
    use_bi_direction = False


class NStepBiRNNTanh(NStepRNNBase):
    """`NStepRNNTanh` in both directions; its layers alternate between forward and backward."""

    kind = _kinds.TANH_KIND
    use_bi_direction = True


class NStepBiRNNReLU(NStepRNNBase):
    """`NStepRNNReLU` in both directions; its layers alternate between forward and backward."""

    kind = _kinds.RELU_KIND
    use_bi_direction = True


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
    """The values of some parameters in one tensor; its rows become the parameters' arrays."""
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
    """A stacked GRU in both directions; its layers alternate between forward and backward."""

    use_bi_direction = True


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
    """A stacked LSTM in both directions; its layers alternate between forward and backward."""

    use_bi_direction = True
