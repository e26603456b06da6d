"""Adamax by Paddle's rule."""

from __future__ import annotations

from typing import Any

from ..framework.dtype import single
from . import rules
from .adam import check_betas
from .optimizer import Optimizer


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the mean square.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        beta1, beta2: how long mean and maximum remember, in [0, 1).
        epsilon: added to the maximum.
    """

    accumulators = (("moment", "moment"), ("inf_norm", "inf_norm"))
    powers = (("beta1_pow_acc", 0),)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._beta1, self._beta2, self._epsilon = check_betas(beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return rules.Adamax(groups, 0.0, betas=(self._beta1, self._beta2), epsilon=single(self._epsilon))
