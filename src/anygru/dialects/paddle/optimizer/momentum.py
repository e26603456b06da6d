"""Gradient descent with momentum, by torch.optim."""

from __future__ import annotations

from typing import Any

import torch

from ..framework.dtype import single
from .optimizer import Optimizer


class Momentum(Optimizer):
    """Steps against a velocity: momentum * velocity + gradient.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        momentum: how much of the velocity stays.
        use_nesterov: step by gradient + momentum * velocity.
        rescale_grad: multiplies the gradients.
        multi_precision, use_multi_tensor: kept for scripts.
    """

    accumulators = (("velocity", "momentum_buffer"),)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if learning_rate is None:
            raise ValueError("learning_rate is not set")
        if momentum is None:
            raise ValueError("momentum is not set")
        self._momentum, self._use_nesterov, self._rescale_grad = (
            float(momentum),
            bool(use_nesterov),
            float(rescale_grad),
        )
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _torch_options(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        momentum = single(group.get("momentum", self._momentum))
        return {"momentum": momentum, "nesterov": bool(group.get("use_nesterov", self._use_nesterov)) and momentum > 0}

    def _treated(self, params_grads: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        pairs = super()._treated(params_grads)
        if self._rescale_grad == 1.0:
            return pairs
        return [(parameter, torch.mul(grad, self._rescale_grad)) for parameter, grad in pairs]

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.SGD(groups, lr=0.0)
