"""`mxnet.rnn.rnn`: checkpoints with a weight for each gate, independent of the cells."""

import warnings
from collections.abc import Callable
from typing import Any

from ..checkpoints import load_checkpoint, save_checkpoint
from ..gluon.rnn.sequences import Steps
from ..symbol.symbol import Symbol
from .base_cell import Arrays, BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]

Cells = BaseRNNCell | list[BaseRNNCell]


def _as_list(cells: Cells) -> list[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Steps,
    begin_state: list | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list]:
    """The old form of `cell.unroll`."""
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(
    cells: Cells, prefix: str, epoch: int, symbol: Symbol, arg_params: Arrays, aux_params: Arrays
) -> None:
    """Write a symbol and parameters, with a weight for each gate of the cells."""
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: str, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """The symbol, the parameters and the auxiliary states of a checkpoint of `save_rnn_checkpoint`."""
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> Callable:
    """A callback of `Module.fit` that writes a checkpoint every `period` epochs."""
    period = int(max(1, period))

    def write(epoch: int, symbol: Any = None, arg_params: Any = None, aux_params: Any = None) -> None:
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    return write
