"""Files of symbols and their parameters, for `mx.model` and modules. Follows MXNet 1.9's `mxnet.model`."""

import logging
from typing import Any, NamedTuple

from .ndarray import utils
from .ndarray.ndarray import NDArray
from .symbol import symbol

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]


class BatchEndParam(NamedTuple):
    """The argument of a callback after a batch."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: symbol.Symbol | None,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write `prefix-symbol.json` and `prefix-NNNN.params`."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    path = f"{prefix}-{epoch:04d}.params"
    save_params(path, arg_params, aux_params)
    logging.info('Saved checkpoint to "%s"', path)


def save_params(path: str, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
    named = [("arg", arg_params), ("aux", aux_params)]
    utils.save(path, {f"{kind}:{name}": value for kind, values in named for name, value in values.items()})


def read_params(path: str) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Parameters and auxiliary states of a file.

    Raises:
        ValueError: for a file that contains other entries.
    """
    found: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
    for key, value in utils.load(path).items():
        kind, _, name = key.partition(":")
        if kind not in found:
            raise ValueError(f"Invalid param file {path}")
        found[kind][name] = value
    return found["arg"], found["aux"]


def load_params(prefix: str, epoch: int) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Parameters and auxiliary states of a checkpoint."""
    return read_params(f"{prefix}-{epoch:04d}.params")


def load_checkpoint(prefix: str, epoch: int) -> tuple[symbol.Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The symbol, the parameters and the auxiliary states of a checkpoint."""
    return (symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))
