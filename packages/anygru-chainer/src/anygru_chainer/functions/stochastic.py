"""Functions of chance. They draw from NumPy's global generator, in Chainer's order."""

from typing import Any

import numpy
import torch

from .. import backend
from ..backends._tensors import as_tensor
from ..configuration import config
from ..types import VariableLike
from ..utils import argument
from ..variable import Variable, as_variable
from ._rows import Row, Tensor, function, one_dtype, one_shape, real
from .activations import softmax

__all__ = ["dropout", "gaussian", "gumbel_softmax", "rrelu", "zoneout"]


def dropout_mask(shape: tuple[int, ...], dtype: numpy.dtype[Any], ratio: float) -> numpy.ndarray:
    """A mask that drops with probability `ratio` and scales the rest, drawn from NumPy's global generator."""
    # One draw in float64 for each element of any dtype (Chainer 7.8.1, `noise/dropout.py`, read).
    kept = numpy.random.rand(*shape) >= ratio
    return dtype.type(1.0 / (1 - ratio)) * kept


def check_ratio(ratio: float) -> None:
    """Raise ValueError unless `ratio` is in [0, 1)."""
    if not 0.0 <= ratio < 1.0:
        raise ValueError(f"dropout_ratio must be in the range [0, 1), got {ratio}")


class Dropout(Row):
    """The node of `dropout`, which keeps the mask."""

    def __init__(self, dropout_ratio: float, mask: VariableLike = None, return_mask: bool = False) -> None:
        check_ratio(dropout_ratio)
        self.dropout_ratio = dropout_ratio
        self.mask = mask
        self.return_mask = return_mask

    def apply(self, inputs: Any) -> tuple[Variable, ...]:
        x = as_variable(inputs[0])
        if self.mask is None and x.dtype.kind == "f":
            self.mask = x.device.send(dropout_mask(x.shape, x.dtype, self.dropout_ratio))
        return super().apply(inputs)

    def compute(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x * as_tensor(self.mask)


def dropout(x: VariableLike, ratio: float = 0.5, **kwargs: Any) -> Any:
    """Zero elements with probability `ratio` and scale the rest by `1 / (1 - ratio)`, when `config.train`.

    Args:
        ratio: in [0, 1) (ValueError).
        mask: the mask to multiply with, instead of a new one.
        return_mask: give (output, mask); the mask is None unless `config.train`.
    """
    mask, return_mask = argument.parse_kwargs(
        kwargs,
        ("mask", None),
        ("return_mask", False),
        train="train argument is not supported anymore. Use chainer.using_config",
    )
    if config.train:
        node = Dropout(ratio, None if mask is None else _on_device_of(x, mask), return_mask)
        y, mask = node.result((x,)), node.mask
    else:
        y, mask = as_variable(x), None
    return (y, mask) if return_mask else y


def _on_device_of(x: VariableLike, mask: VariableLike) -> Any:
    return backend.get_device_from_array(as_variable(x).array).send(mask)


@function("Gaussian", real, one_dtype, one_shape)
def _gaussian(mean: Tensor, ln_var: Tensor, eps: Any = None) -> Tensor:
    return mean + torch.exp(0.5 * ln_var) * as_tensor(eps)


def gaussian(mean: VariableLike, ln_var: VariableLike, *, eps: Any = None, return_eps: bool = False) -> Any:
    """A draw from the normal distribution of this mean and logarithm of the variance, differentiable in both.

    Args:
        eps: the standard normal values to use, instead of new ones.
        return_eps: give (output, eps).
    """
    if eps is None:
        ln_var_variable = as_variable(ln_var)
        # Drawn in float64 and then rounded, as in Chainer 7.8.1 (`noise/gaussian.py`, read).
        normal = numpy.random.standard_normal(ln_var.shape).astype(ln_var_variable.dtype)
        eps = ln_var_variable.device.send(normal)
    y = _gaussian(mean, ln_var, eps)
    return (y, eps) if return_eps else y


def gumbel_softmax(log_pi: VariableLike, tau: Any = 0.1, axis: int = 1) -> Variable:
    """A relaxed draw from categories with the log weights `log_pi` (Jang et al., 2016).

    Args:
        tau: the temperature; at 0 the draw would be one category.
    """
    xp = backend.get_array_module(log_pi)
    # A scalar gives 1 without a draw (Chainer 7.8.1, seen).
    if log_pi.ndim < 1:
        return Variable(xp.ones((), log_pi.dtype))
    noise = as_variable(log_pi).device.send(numpy.random.gumbel(size=log_pi.shape).astype(log_pi.dtype))
    return softmax((log_pi + noise) / tau, axis)


@function("Zoneout")
def _zoneout(h: Tensor, x: Tensor, new: Any) -> Tensor:
    taken = as_tensor(new).to(x.device)
    return h * ~taken + x * taken


# The masks, as Chainer's node has them.
Zoneout.flag_x = property(lambda node: node.new)  # type: ignore[name-defined]  # noqa: F821
Zoneout.flag_h = property(lambda node: ~node.new)  # type: ignore[name-defined]  # noqa: F821


def zoneout(h: VariableLike, x: VariableLike, ratio: float = 0.5, **kwargs: Any) -> Any:
    """x, with each element replaced by h's with probability `ratio` when `config.train` (Krueger et al., 2016)."""
    argument.check_unexpected_kwargs(kwargs, train="train argument is not supported anymore. Use chainer.using_config")
    argument.assert_kwargs_empty(kwargs)
    return _zoneout(h, x, numpy.random.rand(*x.shape) >= ratio) if config.train else x


@function("RReLU", real)
def _rrelu(x: Tensor, r: Any) -> Tensor:
    return torch.where(x >= 0, x, x * as_tensor(r))


def rrelu(x: VariableLike, l: float = 1.0 / 8, u: float = 1.0 / 3, **kwargs: Any) -> Any:  # noqa: E741
    """x where it is not negative, elsewhere `r * x` with r drawn between `l` and `u`, or their mean unless `config.train`.

    Args:
        r: the slopes to use, instead of new ones.
        return_r: give (output, slopes).
    """
    r, return_r = argument.parse_kwargs(kwargs, ("r", None), ("return_r", False))
    if not 0.0 <= l < u < 1.0:
        raise ValueError(f"rrelu needs 0 <= l < u < 1, got l={l} and u={u}")
    x = as_variable(x)
    if config.train and r is None:
        r = x.device.send(numpy.random.uniform(l, u, x.shape).astype(x.dtype))
    slopes = r if config.train else x.xp.full_like(x.array, (l + u) / 2)
    y = _rrelu(x, slopes)
    return (y, slopes) if return_r else y
