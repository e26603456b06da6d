"""Gradient descent, by torch.optim."""

from __future__ import annotations

from typing import Any

import torch

from .optimizer import Optimizer


class SGD(Optimizer):
    """Steps against the gradient.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        multi_precision: kept for scripts.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if learning_rate is None:
            raise ValueError("learning_rate is not set")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.SGD(groups, lr=0.0)
