"""GRUs over whole sequences, computed by `anygru.functional.gru`.

Chainer's six matrices of a layer are `w0 w1 w2` on the input and `w3 w4 w5` on the state, each in the order reset,
update, candidate; the reset gate acts after the product with the state.
"""

from collections.abc import Sequence
from typing import Any

import numpy
import torch
from torch.nn.utils.rnn import PackedSequence

from anygru import functional, gates

from .._torch_function import TorchFunction
from ..configuration import config
from ..utils import argument, type_check
from ..variable import Variable
from ._checks import expect
from ._longest_first import longest_first
from .stochastic import check_ratio, dropout_mask

__all__ = ["n_step_bigru", "n_step_gru"]

Tensor = torch.Tensor


class NStepGRU(TorchFunction):
    """The node of a stacked GRU. Its inputs are hx, the weights and biases of each layer and direction, and the data.

    Args:
        n_layers: number of layers.
        dropout: probability of dropping what goes from one layer to the next.
        bidirectional: whether each layer runs in both directions.
        time_major: whether the data are time steps [B_t, I], else sequences [L_b, I] in any order.
    """

    def __init__(self, n_layers: int, dropout: float, bidirectional: bool, time_major: bool) -> None:
        self.n_layers = n_layers
        self.dropout = dropout if config.train else 0.0
        self.bidirectional = bidirectional
        self.time_major = time_major
        self._masks: dict[int, list[Tensor]] = {}

    @property
    def label(self) -> str:
        return "NStepBiGRU" if self.bidirectional else "NStepGRU"

    @property
    def _n_cells(self) -> int:
        return self.n_layers * (2 if self.bidirectional else 1)

    def check_type_forward(self, in_types: Any) -> None:
        n_weights = 12 * self._n_cells
        hx, ws, xs = in_types[0], in_types[1 : 1 + n_weights], in_types[1 + n_weights :]
        type_check._argname((hx, ws[0]), ("hx", "w0"))
        expect(hx.ndim == 3, hx.dtype == ws[0].dtype, hx.shape[2] == ws[3].shape[1])
        for i, x in enumerate(xs):
            type_check._argname((x,), (f"xs[{i}]",))
            expect(x.dtype.kind == "f", x.dtype == ws[0].dtype, x.ndim >= 2)
            expect(type_check.prod(x.shape[1:]) == ws[0].shape[1])
        if self.time_major:
            for x, following in zip(xs, xs[1:], strict=False):
                expect(x.shape[0] >= following.shape[0])

    def compute(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        n_weights = 12 * self._n_cells
        xs = tuple([x.flatten(1) for x in inputs[1 + n_weights :]])
        batch = len(xs[0]) if self.time_major else len(xs)
        hx, rest = inputs[0][: self._n_cells, :batch], inputs[0][: self._n_cells, batch:]
        weights = _stacked(inputs[1 : 1 + n_weights])
        dropout = self._drop if self.n_layers > 1 and self.dropout > 0 else 0.0
        if self.time_major:
            packed, hy = functional.gru(_pack(xs), hx, weights, bidirectional=self.bidirectional, dropout=dropout)
            ys = packed.data.split([len(x) for x in xs])
        elif dropout:
            # Chainer sorts the sequences before it draws masks for their steps.
            order = longest_first([len(x) for x in xs])
            packed = torch.nn.utils.rnn.pack_sequence([xs[b] for b in order])
            packed, hy = functional.gru(
                packed, hx[:, order], weights, bidirectional=self.bidirectional, dropout=dropout
            )
            inverse = [order.index(b) for b in range(len(order))]
            unpacked = torch.nn.utils.rnn.unpack_sequence(packed)
            hy, ys = hy[:, inverse], [unpacked[b] for b in inverse]
        else:
            ys, hy = functional.gru(list(xs), hx, weights, bidirectional=self.bidirectional)
        if self.time_major and rest.shape[1]:  # sequences without a step keep their state
            hy = torch.cat((hy, rest), 1)
        return hy, *ys

    def _drop(self, layer: int, rows: Tensor) -> tuple[Tensor, ...]:
        """What each direction of a layer reads, with masks in the order in which Chainer draws them."""
        if layer not in self._masks:
            self._masks[layer] = [_mask_like(rows, self.dropout) for _ in range(2 if self.bidirectional else 1)]
        return tuple([rows * mask for mask in self._masks[layer]])


def _stacked(parts: Sequence[Tensor]) -> list[Tensor]:
    """Core weights from w0 ... w5, b0 ... b5 of each layer and direction."""
    stacked = []
    for start in range(0, len(parts), 12):
        stacked += [gates.stack(parts[i : i + 3]) for i in range(start, start + 12, 3)]
    return stacked


def _pack(steps: Sequence[Tensor]) -> PackedSequence:
    """Time steps [B_t, I] as torch's packed sequence."""
    return PackedSequence(torch.cat(tuple(steps)), torch.tensor([len(x) for x in steps]))


def _mask_like(rows: Tensor, ratio: float) -> Tensor:
    dtype = rows.new_empty(0, device="cpu").numpy().dtype
    return torch.from_numpy(dropout_mask(tuple(rows.shape), dtype, ratio)).to(rows.device)


def check_sequences(xs: Any) -> None:
    """Raise TypeError if one of the sequences is a number, None or the like."""
    for i, x in enumerate(xs):
        if not hasattr(x, "shape") and not hasattr(x, "__len__"):
            raise TypeError(f"xs[{i}] must be an array or a Variable, got {type(x)}")


def run(
    n_layers: int, dropout: float, hx: Any, ws: Any, bs: Any, xs: Any, bidirectional: bool, time_major: bool
) -> tuple[Variable, tuple[Variable, ...]]:
    """(hy, ys) of a stacked GRU; see `NStepGRU` and `n_step_gru`."""
    cells = n_layers * (2 if bidirectional else 1)
    parameters = [p for cell in range(cells) for p in (*ws[cell][:6], *bs[cell][:6])]
    if not hasattr(hx, "shape"):
        raise TypeError(f"hx must be an array or a Variable, got {type(hx)}")
    for i, x in enumerate(xs):
        if len(getattr(x, "shape", (0, 0))) < 2:
            raise IndexError(f"xs[{i}] must be [L, I] with I = {parameters[0].shape[1]}, got {tuple(x.shape)}")
        if not time_major and len(x) == 0:
            raise IndexError(f"xs[{i}] must have at least one step, got {tuple(x.shape)}; leave such sequences out")
    batch = len(xs[0]) if time_major else len(xs)
    if len(hx.shape) == 3 and (hx.shape[0] < cells or hx.shape[1] < batch):
        raise IndexError(
            f"hx must be [S, B, N] with S = {cells} (layers times directions) and B = {batch}, got {tuple(hx.shape)}"
        )
    if n_layers > 1 and config.train:
        check_ratio(dropout)
        if dropout == 0:
            directions = cells // n_layers
            _draw_unused(sum(len(x) for x in xs) * hx.shape[2] * directions**2, n_layers - 1)
    hy, *ys = NStepGRU(n_layers, dropout, bidirectional, time_major).apply((hx, *parameters, *xs))
    return hy, tuple(ys)


def _draw_unused(size: int, times: int) -> None:
    """Draw the masks that Chainer draws even where nothing is dropped, so that a seed goes on as it does there."""
    for _ in range(times):
        numpy.random.rand(size)


def n_step_gru(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, **kwargs: Any
) -> tuple[Variable, tuple[Variable, ...]]:
    """A stacked GRU over time steps.

    Args:
        n_layers: S, number of layers.
        dropout_ratio: probability of dropping what goes from one layer to the next, when `config.train`.
        hx: initial states [S, B, N].
        ws: for each layer its six matrices, w0 w1 w2 [N, I] (above the first layer [N, N]) and w3 w4 w5 [N, N].
        bs: for each layer its six biases [N].
        xs: time steps [B_t, I], B_t not increasing.

    Returns:
        hy, the states after each sequence's last step [S, B, N], and ys, the last layer's states at each step [B_t, N].

    Raises:
        InvalidType: sizes or dtypes do not fit. ValueError: a keyword of an earlier release.
    """
    return n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_gru_base(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, use_bi_direction: bool, **kwargs: Any
) -> tuple[Variable, tuple[Variable, ...]]:
    """`n_step_bigru` if `use_bi_direction`, else `n_step_gru`."""
    argument.check_unexpected_kwargs(
        kwargs,
        train="train argument is not supported anymore. Use chainer.using_config",
        use_cudnn="use_cudnn argument is not supported anymore. Use chainer.using_config",
    )
    argument.assert_kwargs_empty(kwargs)
    return run(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction, time_major=True)


def n_step_bigru(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, **kwargs: Any
) -> tuple[Variable, tuple[Variable, ...]]:
    """A stacked GRU in both directions over time steps; see `n_step_gru`.

    hx and hy are [2S, B, N]; ws and bs have the forward and the backward half of each layer in turn; ys are [B_t, 2N].
    """
    return n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=True, **kwargs)
