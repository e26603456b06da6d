"""Adam (D. Kingma, J. Ba, 2015), by torch.optim."""

from __future__ import annotations

from typing import Any

import torch

from .optimizer import Optimizer


def check_betas(beta1: Any, beta2: Any, epsilon: Any) -> tuple[float, float, float]:
    """The numbers, or what one-element tensors hold.

    Raises:
        AssertionError: for None.
        ValueError: for a number that is not in its range.
    """
    values = []
    for name, value in (("beta1", beta1), ("beta2", beta2), ("epsilon", epsilon)):
        if value is None:
            raise AssertionError(f"{name} should not be None")
        values.append(float(value))
    if not 0 <= values[0] < 1:
        raise ValueError("Invaild value of beta1, expect beta1 in [0,1).")
    if not 0 <= values[1] < 1:
        raise ValueError("Invaild value of beta2, expect beta2 in [0,1).")
    if values[2] < 0:
        raise ValueError("Invaild value of epsilon, expect epsilon >= 0.")
    return values[0], values[1], values[2]


class Adam(Optimizer):
    """Steps by the mean of the gradients over the root of the mean of their squares.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        beta1, beta2: how long the two means remember, in [0, 1).
        epsilon: added to the root.
        lazy_mode: refused when True: gradients are dense.
        multi_precision, use_multi_tensor: kept for scripts; parameters are stepped in their own precision.
    """

    accumulators = (("moment1", "exp_avg"), ("moment2", "exp_avg_sq"))
    powers = (("beta1_pow_acc", 0), ("beta2_pow_acc", 1))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if learning_rate is None:
            raise AssertionError("learning_rate should not be None")
        self._beta1, self._beta2, self._epsilon = check_betas(beta1, beta2, epsilon)
        self._lazy_mode = lazy_mode
        self._use_multi_tensor = use_multi_tensor
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _torch_options(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        betas = group.get("beta1", self._beta1), group.get("beta2", self._beta2)
        return {"betas": betas, "eps": group.get("epsilon", self._epsilon)}

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.Adam(groups, lr=0.0)
