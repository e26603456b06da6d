"""The optimizers: torch's update rules with OneFlow's arguments and defaults."""

from __future__ import annotations

from typing import Any

import torch

from grus.dialects.oneflow.optim.optimizer import Optimizer


class SGD(Optimizer, torch.optim.SGD):
    """Stochastic gradient descent, with momentum or without."""

    OPTIONS = {"fused": None}
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
        torch.optim.SGD.__init__(
            self, params, lr, momentum, dampening, weight_decay, nesterov, maximize=maximize, foreach=False
        )


class Adam(Optimizer, torch.optim.Adam):
    """Adam."""

    OPTIONS = {"do_bias_correction": True, "bias_correction1": None, "bias_correction2": None, "fused": None}
    STATE = {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq", "max_exp_avg_sq": "max_exp_avg_sq"}

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
        _only(self, do_bias_correction=(do_bias_correction, True))
        torch.optim.Adam.__init__(self, params, lr, betas, eps, weight_decay, amsgrad, foreach=False)


class AdamW(Optimizer, torch.optim.AdamW):
    """Adam with the weights' decay apart from their gradients."""

    OPTIONS = Adam.OPTIONS
    STATE = Adam.STATE

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
        _only(self, do_bias_correction=(do_bias_correction, True))
        torch.optim.AdamW.__init__(self, params, lr, betas, eps, weight_decay, amsgrad, foreach=False)


class Adagrad(Optimizer, torch.optim.Adagrad):
    """Adagrad."""

    STATE = {"sum": "sum"}

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        lr_decay: float = 0.0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
    ) -> None:
        torch.optim.Adagrad.__init__(
            self, params, lr, lr_decay, weight_decay, initial_accumulator_value, eps, foreach=False
        )


class Adadelta(Optimizer, torch.optim.Adadelta):
    """Adadelta."""

    STATE = {"square_avg": "square_avgs", "acc_delta": "acc_deltas"}

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        maximize: bool = False,
    ) -> None:
        _only(self, maximize=(maximize, False))
        torch.optim.Adadelta.__init__(self, params, lr, rho, eps, weight_decay, foreach=False)


class RMSprop(Optimizer):
    """RMSprop whose eps stands inside the square root, as OneFlow has it; torch has it outside."""

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
        assert momentum == 0.0, "RMSprop: OneFlow has no momentum greater than zero"
        super().__init__(
            params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "centered": centered}
        )

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
        square = state.setdefault("square_avg", torch.zeros_like(parameter))
        square.mul_(group["alpha"]).addcmul_(gradient, gradient, value=1 - group["alpha"])
        variance = square
        if group["centered"]:
            mean = state.setdefault("grad_avg", torch.zeros_like(parameter))
            mean.mul_(group["alpha"]).add_(gradient, alpha=1 - group["alpha"])
            variance = square - mean * mean
        parameter.addcdiv_(gradient, (variance + group["eps"]).sqrt(), value=-group["lr"])


def _only(optimizer: Optimizer, **options: tuple[Any, Any]) -> None:
    for name, (given, honoured) in options.items():
        if given != honoured:
            raise NotImplementedError(f"{type(optimizer).__name__}: {name} can only be {honoured}, got {given}")
