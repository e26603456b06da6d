"""`paddle.fluid.layers`: the schedules that a dynamic graph takes for learning rates."""

from typing import Any

from ..dygraph import learning_rate_scheduler as rates
from .renamed import renamed

_DECAY = "learning_rate decay_steps decay_rate staircase=False"
_ROWS: dict[str, tuple[Any, str]] = {
    "cosine_decay": (rates.CosineDecay, "learning_rate step_each_epoch epochs"),
    "exponential_decay": (rates.ExponentialDecay, _DECAY),
    "inverse_time_decay": (rates.InverseTimeDecay, _DECAY),
    "linear_lr_warmup": (rates.LinearLrWarmup, "learning_rate warmup_steps start_lr end_lr"),
    "natural_exp_decay": (rates.NaturalExpDecay, _DECAY),
    "noam_decay": (rates.NoamDecay, "d_model warmup_steps learning_rate=1.0"),
    "piecewise_decay": (lambda **given: rates.PiecewiseDecay(begin=0, **given), "boundaries values"),
    "polynomial_decay": (
        rates.PolynomialDecay, "learning_rate decay_steps end_learning_rate=0.0001 power=1.0 cycle=False",
    ),
}  # fmt: skip
globals().update((_name, renamed(_name, *_row)) for _name, _row in _ROWS.items())

__all__ = list(_ROWS)
