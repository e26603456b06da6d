"""Adadelta (M. Zeiler, 2012), by torch.optim."""

from __future__ import annotations

from typing import Any

import torch

from ..framework.dtype import single
from .optimizer import Optimizer


class Adadelta(Optimizer):
    """Steps by the gradient times the root mean square of past steps over that of past gradients.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        epsilon: added under both roots.
        rho: how long both means remember.
    """

    accumulators = (("_avg_squared_grad", "square_avg"), ("_avg_squared_update", "acc_delta"))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        for given, value in (("learning_rate", learning_rate), ("epsilon", epsilon), ("rho", rho)):
            if value is None:
                raise ValueError(f"{given} is not set.")
        self._epsilon, self._rho = float(epsilon), float(rho)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.Adadelta(groups, lr=0.0, rho=single(self._rho), eps=single(self._epsilon))
