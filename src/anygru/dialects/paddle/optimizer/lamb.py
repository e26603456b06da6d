"""Lamb by Paddle's rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import rules
from .adam import check_betas
from .optimizer import Optimizer


class Lamb(Optimizer):
    """Adam scaled by the norms of parameter and update, for large batches.

    Args:
        learning_rate, parameters, grad_clip, name: as of `Optimizer`.
        lamb_weight_decay: added to the update, times the parameter.
        beta1, beta2, epsilon: as of `Adam`.
        exclude_from_weight_decay_fn: given a parameter, whether it does not decay.
        multi_precision: kept for scripts.
        always_adapt: scale the updates of parameters that do not decay, too.
    """

    accumulators = (("moment1", "moment1"), ("moment2", "moment2"))
    powers = (("beta1_pow_acc", 0), ("beta2_pow_acc", 1))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameters: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        self._beta1, self._beta2, self._epsilon = check_betas(beta1, beta2, epsilon)
        self._always_adapt = bool(always_adapt)
        self._decay, self._excluded = float(lamb_weight_decay), exclude_from_weight_decay_fn
        super().__init__(learning_rate, parameters, None, grad_clip, name)

    def _torch_options(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        excluded = self._excluded is not None and self._excluded(parameter)
        return {"decay": 0.0 if excluded else self._decay}

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return rules.Lamb(
            groups,
            0.0,
            betas=(self._beta1, self._beta2),
            epsilon=self._epsilon,
            decay=self._decay,
            always_adapt=self._always_adapt,
        )
