"""The optimizers: torch's update rules with OneFlow's arguments and defaults."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from .optimizer import Optimizer


class SGD(Optimizer, torch.optim.SGD):
    """Stochastic gradient descent, with momentum or without."""

    OPTIONS = dict.fromkeys(("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")) | {"fused": False}
    STATE = {"momentum_buffer": "momentum_buf"}

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        fused: bool = False,
    ) -> None:
        # torch allows nesterov with momentum and without dampening only; it is computed alike in any case.
        self._make(torch.optim.SGD, params, lr, momentum, dampening, weight_decay, maximize=maximize, foreach=False)
        for group in self.param_groups:
            group["nesterov"] = group.get("nesterov") or nesterov
            if group["maximize"] and not group["momentum"]:
                warnings.warn(
                    "as in OneFlow 0.9, SGD without momentum minimizes in spite of maximize=True", stacklevel=2
                )

    def _step_options(self, group: dict[str, Any]) -> dict[str, Any]:
        # OneFlow leaves maximize out of account without momentum. With it, it goes the way of the momentum, not against it.
        options = super()._step_options(group)
        if group["maximize"] and group["momentum"]:
            options["lr"] = -options.get("lr", group["lr"])
        return {**options, "maximize": False}

    def _state_names(self, group: dict[str, Any]) -> Iterable[str]:
        # OneFlow's momentum begins at zero, torch's at the first gradient.
        return self.STATE if group["momentum"] else ()


class _AdamOptions(Optimizer):
    """What Adam and AdamW have beside torch's: a bias correction that can be left out."""

    STATE = {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq", "max_exp_avg_sq": "max_exp_avg_sq"}

    def _state_names(self, group: dict[str, Any]) -> Iterable[str]:
        return [name for name in self.STATE if name != "max_exp_avg_sq" or group["amsgrad"]]

    def _step_options(self, group: dict[str, Any]) -> dict[str, Any]:
        """Options with which torch's corrections, of rounded betas, turn into OneFlow's, which are rounded themselves."""
        options = super()._step_options(group)
        torchs = [1 - beta ** (self.steps + 1) for beta in options["betas"]]
        if group["do_bias_correction"]:
            corrections = [1 - beta ** (self.steps + 1) for beta in group["betas"]]
            group["bias_correction1"], group["bias_correction2"] = corrections
        first, second = np.float32(group["bias_correction1"]), np.float32(group["bias_correction2"])
        rate = np.float32(group["lr"])
        scale = float(np.sqrt(second)) / torchs[1] ** 0.5
        lr = float(rate / first) * torchs[0] * scale
        if group.get("decoupled_weight_decay"):
            decay = float(rate * np.float32(group["weight_decay"]))
            options["weight_decay"] = decay / lr if lr else 0.0
        return {**options, "lr": lr, "eps": float(np.float32(group["eps"])) * scale}


class Adam(_AdamOptions, torch.optim.Adam):
    """Adam."""

    OPTIONS = dict.fromkeys(("lr", "eps", "betas", "weight_decay", "amsgrad")) | {
        "bias_correction1": 1.0,
        "bias_correction2": 1.0,
        "do_bias_correction": True,
        "fused": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        amsgrad: bool = False,
        do_bias_correction: bool = True,
        fused: bool = False,
    ) -> None:
        self._make(torch.optim.Adam, params, lr, betas, eps, weight_decay, amsgrad, foreach=False)
        for group in self.param_groups:
            group["do_bias_correction"] = do_bias_correction


class AdamW(_AdamOptions, torch.optim.AdamW):
    """Adam with the weights' decay apart from their gradients."""

    OPTIONS = dict.fromkeys(("lr", "eps", "betas", "weight_decay")) | {
        "bias_correction1": 1.0,
        "bias_correction2": 1.0,
        "do_bias_correction": True,
        "amsgrad": None,
        "fused": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        amsgrad: bool = False,
        do_bias_correction: bool = True,
        fused: bool = False,
    ) -> None:
        self._make(torch.optim.AdamW, params, lr, betas, eps, weight_decay, amsgrad, foreach=False)
        for group in self.param_groups:
            group["do_bias_correction"] = do_bias_correction
            group["decoupled_weight_decay"] = True


class Adagrad(Optimizer, torch.optim.Adagrad):
    """Adagrad."""

    OPTIONS = dict.fromkeys(("lr", "initial_accumulator_value", "lr_decay", "weight_decay", "eps"))
    STATE = {"sum": "sum"}
    AT_ONCE = True

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        lr_decay: float = 0.0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
    ) -> None:
        self._make(
            torch.optim.Adagrad, params, lr, lr_decay, weight_decay, initial_accumulator_value, eps, foreach=False
        )

    def _step_options(self, group: dict[str, Any]) -> dict[str, Any]:
        slower = np.float32(1) + np.float32(self.steps) * np.float32(group["lr_decay"])
        return {**super()._step_options(group), "lr": float(np.float32(group["lr"]) / slower), "lr_decay": 0.0}


class Adadelta(Optimizer, torch.optim.Adadelta):
    """Adadelta."""

    OPTIONS = dict.fromkeys(("lr", "rho", "eps", "maximize", "weight_decay"))
    STATE = {"square_avg": "square_avgs", "acc_delta": "acc_deltas"}
    AT_ONCE = True

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        maximize: bool = False,
    ) -> None:
        assert not maximize, "Adadelta: OneFlow takes no maximize=True"
        self._make(torch.optim.Adadelta, params, lr, rho, eps, weight_decay, foreach=False)


class RMSprop(Optimizer):
    """RMSprop whose eps stands inside the square root, as OneFlow has it; torch has it outside."""

    OPTIONS = dict.fromkeys(("lr", "alpha", "eps", "weight_decay", "centered"))
    STATE = {"square_avg": "square_avg", "grad_avg": "grad_avg"}

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        assert lr >= 0, f"Invalid learning rate: {lr}"
        for name, value in {"alpha": alpha, "eps": eps, "weight_decay": weight_decay}.items():
            assert value >= 0, f"Invalid {name} value: {value}"
        assert momentum == 0.0, "RMSprop: OneFlow has no momentum greater than zero"
        super().__init__(
            params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "centered": centered}
        )

    def _state_names(self, group: dict[str, Any]) -> Iterable[str]:
        return self.STATE if group["centered"] else ["square_avg"]

    @torch.no_grad()
    def _change_parameters(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        gradient, state = parameter.grad, self.state[parameter]
        assert gradient is not None
        if group["weight_decay"]:
            gradient = gradient + group["weight_decay"] * parameter
        square = state["square_avg"]
        square.mul_(group["alpha"]).addcmul_(gradient, gradient, value=1 - group["alpha"])
        variance = square
        if group["centered"]:
            mean = state["grad_avg"]
            mean.mul_(group["alpha"]).add_(gradient, alpha=1 - group["alpha"])
            variance = square - mean * mean
        parameter.addcdiv_(gradient, (variance + group["eps"]).sqrt(), value=-group["lr"])
