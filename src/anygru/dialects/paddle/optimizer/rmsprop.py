"""RMSProp by Paddle's rule."""

from __future__ import annotations

from typing import Any

from ..framework.dtype import single
from . import rules
from .optimizer import Optimizer


class RMSProp(Optimizer):
    """Steps by the gradient over the root of the mean of its squares.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        rho: how long the mean remembers.
        epsilon: added under the root.
        momentum: how much of the last step stays.
        centered: subtract the square of the mean gradient.
    """

    accumulators = (("momentum", "momentum"), ("mean_square", "mean_square"), ("mean_grad", "mean_grad"))

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        for given, value in (
            ("learning_rate", learning_rate),
            ("rho", rho),
            ("epsilon", epsilon),
            ("momentum", momentum),
        ):
            if value is None:
                raise ValueError(f"{given} is not set.")
        for given, number in (("epsilon", epsilon), ("momentum", momentum), ("rho", rho)):
            if number < 0:
                raise ValueError(f"Invalid value of {given}, expect {given} >= 0.")
        self._rho, self._epsilon, self._momentum, self._centered = rho, epsilon, momentum, centered
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return rules.RMSProp(
            groups, 0.0, rho=single(self._rho), epsilon=single(self._epsilon), momentum=single(self._momentum),
            centered=self._centered,
        )  # fmt: skip
