"""Adagrad (J. Duchi and others, 2011), by torch.optim."""

from __future__ import annotations

from typing import Any

import torch

from .optimizer import Optimizer


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of all its squares.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        epsilon: added to the root.
        initial_accumulator_value: where the sum begins.
    """

    accumulators = (("moment", "sum"),)

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        if learning_rate is None or epsilon is None:
            raise AssertionError("Adagrad: learning_rate and epsilon must be given")
        self._epsilon, self._initial = float(epsilon), float(initial_accumulator_value)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.Adagrad(groups, lr=0.0, eps=self._epsilon, initial_accumulator_value=self._initial)
