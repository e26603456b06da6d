"""`paddle.fluid.layers`: losses of Paddle 1.x, most of them one number per row."""

from typing import Any

import torch

from ...nn.functional import loss, margins
from ...tensor.operation import row
from .renamed import one_element, renamed


def _huber(input: torch.Tensor, label: torch.Tensor, delta: float) -> torch.Tensor:
    apart = torch.abs(label - input)
    return torch.where(apart <= delta, 0.5 * apart * apart, delta * (apart - 0.5 * delta))


def _smooth_l1(
    x: torch.Tensor, y: torch.Tensor, inside_weight: Any = None, outside_weight: Any = None, sigma: float | None = None
) -> torch.Tensor:
    square = 1.0 if sigma is None else sigma * sigma
    apart = x - y if inside_weight is None else (x - y) * inside_weight
    near = torch.abs(apart) < 1.0 / square
    each = torch.where(near, 0.5 * square * apart * apart, torch.abs(apart) - 0.5 / square)
    each = each if outside_weight is None else each * outside_weight
    return torch.sum(torch.flatten(each, 1), 1, keepdim=True)


def _logits(x: torch.Tensor, label: torch.Tensor, ignore_index: int = -100, normalize: bool = False) -> torch.Tensor:
    each = torch.clamp_min(x, 0) - x * label + torch.log1p(torch.exp(-torch.abs(x)))
    counted = label != ignore_index
    each = torch.where(counted, each, torch.zeros_like(each))
    return each / torch.clamp_min(torch.sum(counted), 1) if normalize else each


def _bpr(input: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    places = torch.reshape(label, (-1, 1)).long()
    right = torch.gather(input, 1, places)
    others = torch.ones_like(input).scatter(1, places, 0.0)
    each = torch.nn.functional.softplus(input - right) * others
    return torch.sum(each, 1, keepdim=True) / (int(input.shape[1]) - 1)


def _rank(label: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    apart = left - right
    return torch.log1p(torch.exp(apart)) - label * apart


def _margin_rank(label: torch.Tensor, left: torch.Tensor, right: torch.Tensor, margin: float = 0.1) -> torch.Tensor:
    return torch.relu(margin - label * (left - right))


def _new(compute: Any) -> Any:
    return row(compute.__name__.lstrip("_"), compute, f"The loss `{compute.__name__.lstrip('_')}` of Paddle 1.x.")


_ROWS: dict[str, tuple[Any, ...]] = {
    "bpr_loss": (_new(_bpr), "input label name=None"),
    "dice_loss": (margins.dice_loss, "input label epsilon=1e-05 name=None", one_element),
    "huber_loss": (_new(_huber), "input label delta"),
    "kldiv_loss": (loss.kl_div, "x>input target>label reduction='mean' name=None", one_element),
    "log_loss": (loss.log_loss, "input label epsilon=0.0001 name=None"),
    "margin_rank_loss": (_new(_margin_rank), "label left right margin=0.1 name=None"),
    "mse_loss": (loss.mse_loss, "input label", one_element),
    "npair_loss": (margins.npair_loss, "anchor positive labels l2_reg=0.002", one_element),
    "rank_loss": (_new(_rank), "label left right name=None"),
    "sigmoid_cross_entropy_with_logits": (_new(_logits), "x label ignore_index=-100 name=None normalize=False"),
    "smooth_l1": (_new(_smooth_l1), "x y inside_weight=None outside_weight=None sigma=None"),
    "square_error_cost": (loss.square_error_cost, "input label"),
}
globals().update((_name, renamed(_name, *_row)) for _name, _row in _ROWS.items())

__all__ = list(_ROWS)
