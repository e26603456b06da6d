"""The recurrent layers and cells as `oneflow._C` has them, and its batch normalization."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from anygru import functional
from anygru.errors import ArgumentError, ArgumentTypeError
from anygru.extend import layer_of_torch

from ...framework.dressing import dress, inside_torch
from ...framework.tensor import Tensor

__all__ = [
    "gru", "gru_cell", "lstm", "lstm_cell", "normalization", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell",
]  # fmt: skip


def layer_of(kind: str) -> Callable[..., Any]:
    """All layers of torch's `kind`. A program may change the output in place (recorded in 0.9.0), so it is not the tensor that
    torch keeps for the backward pass."""
    compute = layer_of_torch(kind)

    def call(*arguments: Any, **keywords: Any) -> Any:
        output, *states = compute(*arguments, **keywords)
        return (output.clone() if output.requires_grad else output, *states)

    return call


def _layer(kind: str) -> Callable[..., Any]:
    """All layers of torch's `kind`; arguments that do not fit raise RuntimeError, as in OneFlow."""
    inside = inside_torch(layer_of(kind))

    def compute(*arguments: Any, **keywords: Any) -> Any:
        try:
            return inside(*arguments, **keywords)
        except (ArgumentError, ArgumentTypeError) as error:
            raise RuntimeError(str(error)) from error

    return compute


lstm, rnn_tanh, rnn_relu = map(_layer, ("lstm", "rnn_tanh", "rnn_relu"))

_OF_BATCH = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
_OF_PACKED = ("data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")


def gru(*arguments: Any, **keywords: Any) -> Any:
    """A GRU's output and last state, by anygru's kernels.

    `gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)` takes a batch [T, B, I]
    ([B, T, I]); `gru(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)` takes the rows
    of packed sequences.

    Args:
        hx: [L*D, B, H].
        params: for each layer and direction the weights of the input and of the state, and their biases if `has_biases`.

    Raises:
        TypeError: arguments are missing, or there are others.
        RuntimeError: sizes or types that do not fit.
    """
    is_packed = "batch_sizes" in keywords or (len(arguments) > 2 and isinstance(arguments[2], torch.Tensor))
    names = _OF_PACKED if is_packed else _OF_BATCH
    given = {**dict(zip(names, arguments, strict=False)), **keywords}
    if len(arguments) > len(names) or set(given) != set(names):
        raise TypeError(f"gru() takes {', '.join(names)}; got {len(arguments)} arguments and {list(keywords)}")
    with torch._C.DisableTorchFunctionSubclass():
        rows = PackedSequence(given["data"], given["batch_sizes"]) if is_packed else given["input"]
        try:
            output, h_n = functional.gru(
                rows,
                given["hx"],
                given["params"],
                batch_first=given.get("batch_first", False),
                bidirectional=given["bidirectional"],
                bias=given["has_biases"],
                dropout=given["dropout"],
                training=given["train"],
            )
        except (ArgumentError, ArgumentTypeError) as error:
            raise RuntimeError(str(error)) from error
    return dress((output.data if is_packed else output, h_n))


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Any:
    """The state [B, H] after one step of a GRU."""
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return dress(functional.gru_cell(input, hx, w_ih, w_hh, *_both(b_ih, b_hh)))
        except (ArgumentError, ArgumentTypeError) as error:
            raise RuntimeError(str(error)) from error


def _both(b_ih: Tensor | None, b_hh: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """The biases of a cell; OneFlow 0.9.0 adds neither where one is not there (recorded)."""
    return (b_ih, b_hh) if b_ih is not None and b_hh is not None else (None, None)


def _cell(function: Callable[..., Any]) -> Callable[..., Any]:
    """A cell of torch by OneFlow's arguments."""
    inside = inside_torch(function)

    def step(
        input: Tensor,
        hx: Tensor | Sequence[Tensor],
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        return inside(input, hx, w_ih, w_hh, *_both(b_ih, b_hh))

    return step


lstm_cell = _cell(torch.lstm_cell)
rnn_tanh_cell = _cell(torch.rnn_tanh_cell)
rnn_relu_cell = _cell(torch.rnn_relu_cell)


def normalization(
    x: Tensor,
    moving_mean: Tensor | None = None,
    moving_variance: Tensor | None = None,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    axis: int = 1,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    is_training: bool = False,
) -> Any:
    """A batch normalization over all dimensions but `axis`; `momentum` is the share of the new statistics, as recorded."""
    rows = x if axis == 1 or x.dim() == 1 else x.transpose(1, axis)
    training = is_training or moving_mean is None
    result = torch.batch_norm(rows, gamma, beta, moving_mean, moving_variance, training, momentum, epsilon, False)
    return result if rows is x else result.transpose(1, axis)
