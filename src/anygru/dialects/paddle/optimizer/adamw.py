"""AdamW (I. Loshchilov, F. Hutter, 2019), by torch.optim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .adam import Adam


class AdamW(Adam):
    """Adam whose weight decay shrinks parameters by learning_rate * weight_decay instead of entering the gradients.

    Args:
        learning_rate, beta1, beta2, epsilon, parameters, grad_clip, lazy_mode, multi_precision, name: as of `Adam`.
        weight_decay: a number, 0.01 unless given.
        lr_ratio: gives a parameter's factor on the learning rate.
        apply_decay_param_fun: given a parameter's name, whether it decays; all do unless given.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Any = None,
        weight_decay: Any = 0.01,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if weight_decay is None or not isinstance(weight_decay, (float, torch.Tensor)):
            raise TypeError("weight_decay should be float or Tensor.")
        if lr_ratio is not None and not callable(lr_ratio):
            raise AssertionError("lr_ratio must be a function of a parameter")
        self._coeff = float(weight_decay)
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun
        super().__init__(
            learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, lazy_mode, multi_precision, False, name
        )

    def _group_regularizer(self, weight_decay: Any) -> None:
        return None

    def _torch_options(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        wanted = self._apply_decay_param_fun
        decays = wanted is None or wanted(parameter.name)
        coefficient = float(group.get("weight_decay", self._coeff)) if decays else 0.0
        return {**super()._torch_options(parameter, group), "weight_decay": coefficient}

    def _rate_factor(self, parameter: Any, group: dict[str, Any]) -> float:
        factor = super()._rate_factor(parameter, group)
        return factor if self._lr_ratio is None else factor * float(self._lr_ratio(parameter))

    def _make(self, groups: list[dict[str, Any]]) -> Any:
        return torch.optim.AdamW(groups, lr=0.0)
