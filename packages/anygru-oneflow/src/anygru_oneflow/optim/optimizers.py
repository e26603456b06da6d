"""The update rules of OneFlow 0.9's CPU kernels, in their order of operations.

The kernels take every option as float32 for any type of the parameters (recorded: float64 parameters differ from torch's
after one step); `Optimizer.step` hands the rules options that are rounded so.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import torch

from anygru.extend import single

from .optimizer import Optimizer, Parameters

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "LAMB", "RMSprop", "SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum or without."""

    STATE = ("momentum_buf",)

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        fused: bool = False,
    ) -> None:
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**options, "nesterov": nesterov, "maximize": maximize, "fused": fused})
        if any(group["maximize"] and not group["momentum"] for group in self.param_groups):
            warnings.warn("as in OneFlow 0.9, SGD without momentum minimizes in spite of maximize=True", stacklevel=2)

    def _state_names(self, group: dict[str, Any]) -> Sequence[str]:
        return self.STATE if group["momentum"] else ()

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        gradient = self._gradient(parameter, group)
        rate = group["lr"]
        if group["momentum"]:
            # The momentum begins at zero, where torch's begins at the first gradient (recorded in 0.9.0).
            momentum = state["momentum_buf"]
            momentum.mul_(group["momentum"]).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient.add(momentum, alpha=group["momentum"]) if group["nesterov"] else momentum
            # Only here 0.9.0 looks at maximize; without momentum it is ignored (recorded).
            rate = -rate if group["maximize"] else rate
        parameter.add_(gradient, alpha=-rate)


def _corrections(asked_for: bool) -> dict[str, Any]:
    """The options of the bias corrections, 1 before the first step."""
    return {"bias_correction1": 1.0, "bias_correction2": 1.0, "do_bias_correction": asked_for}


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015)."""

    STATE = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    AMSGRAD_LAST = False  # the order of the options in a saved state (recorded in 0.9.0)

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        amsgrad: bool = False,
        do_bias_correction: bool = True,
        fused: bool = False,
    ) -> None:
        options = {"lr": lr, "eps": eps, "betas": betas, "weight_decay": weight_decay, "amsgrad": amsgrad}
        options |= _corrections(do_bias_correction)
        if self.AMSGRAD_LAST:
            options["amsgrad"] = options.pop("amsgrad")
        super().__init__(params, {**options, "fused": fused})

    def _state_names(self, group: dict[str, Any]) -> Sequence[str]:
        return self.STATE if group["amsgrad"] else self.STATE[:2]

    def _begin_step(self, group: dict[str, Any]) -> None:
        if group["do_bias_correction"]:  # of the options as given; their float32 is taken afterwards
            group["bias_correction1"], group["bias_correction2"] = (
                1 - beta ** (self.steps + 1) for beta in group["betas"]
            )

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        rate = single(group["lr"] / group["bias_correction1"])
        parameter.sub_(self._change(parameter, state, group), alpha=rate)

    def _change(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> torch.Tensor:
        """The mean gradient divided by the root of the mean square; the mean has no bias correction."""
        gradient = self._gradient(parameter, group)
        (first, second), mean, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        mean.mul_(first).add_(gradient, alpha=1 - first)
        square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        if group["amsgrad"]:
            square = torch.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        root = single(group["bias_correction2"] ** 0.5)
        return mean / (square.sqrt() / root + group["eps"])


class AdamW(Adam):
    """Adam with the weights' decay apart from their gradients (Loshchilov and Hutter, 2019)."""

    AMSGRAD_LAST = True

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        decay = single(group["lr"] * group["weight_decay"]) * parameter
        super()._update(parameter, state, {**group, "weight_decay": 0.0})
        parameter.sub_(decay)


class LAMB(Adam):
    """LAMB (You et al., 2020): Adam's step, as long as the weights are, times the learning rate.

    Args:
        adam_w_mode: decay the weights apart from their gradients, as AdamW does.
    """

    BY_NUMBER = False  # the norm is of all of them

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        adam_w_mode: bool = True,
        do_bias_correction: bool = True,
        amsgrad: bool = False,
    ) -> None:
        if amsgrad:
            raise RuntimeError("LAMB: OneFlow takes no amsgrad=True")
        options = {"lr": lr, "eps": eps, "betas": betas, "weight_decay": weight_decay, "amsgrad": amsgrad}
        Optimizer.__init__(self, params, {**options, "adam_w_mode": adam_w_mode, **_corrections(do_bias_correction)})

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        decay = group["weight_decay"] if group["adam_w_mode"] else 0.0
        self._scaled(parameter, state, {**group, "weight_decay": group["weight_decay"] - decay}, decay)

    def _scaled(
        self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any], decay: float
    ) -> None:
        """A step with `decay` apart from the gradient's decay, which is the group's."""
        if not group["do_bias_correction"]:  # which `oneflow._C` may have as well as corrections; Adam takes them then
            group = group | _corrections(False)
        change = self._change(parameter, state, group) / group["bias_correction1"]
        sizes = parameter.norm(), change.norm()
        # The decay has no part in the norm, and a norm of zero leaves Adam's length. The rate times the ratio is float32,
        # also for float64 parameters (recorded in 0.9.0).
        rate = (sizes[0] / sizes[1] * group["lr"]).float() if all(sizes) else group["lr"]
        parameter.sub_(change.add(parameter, alpha=decay) * rate)


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011)."""

    STATE = ("sum",)
    AT_ONCE = True

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        lr_decay: float = 0.0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
    ) -> None:
        options = {"lr": lr, "initial_accumulator_value": initial_accumulator_value, "lr_decay": lr_decay}
        super().__init__(params, {**options, "weight_decay": weight_decay, "eps": eps})

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        gradient = self._gradient(parameter, group)
        square = state["sum"].addcmul_(gradient, gradient)
        parameter.addcdiv_(gradient, square.sqrt() + group["eps"], value=-self._rate(group))

    def _rate(self, group: dict[str, Any]) -> float:
        return single(group["lr"] / single(1 + single(self.steps * group["lr_decay"])))


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012)."""

    STATE = ("square_avgs", "acc_deltas")
    AT_ONCE = True

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        maximize: bool = False,
    ) -> None:
        assert not maximize, "Adadelta: OneFlow takes no maximize=True"
        options = {"lr": lr, "rho": rho, "eps": eps, "maximize": maximize, "weight_decay": weight_decay}
        super().__init__(params, options)

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        gradient = self._gradient(parameter, group)
        square, deltas, rho, eps = state["square_avgs"], state["acc_deltas"], group["rho"], group["eps"]
        square.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        delta = (deltas + eps).sqrt() / (square + eps).sqrt() * gradient
        deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        parameter.add_(delta, alpha=-group["lr"])


class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012), of a gradient's mean square or, if centered, its variance."""

    STATE = ("square_avg", "grad_avg")

    def __init__(
        self,
        params: Parameters,
        lr: float = 0.001,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        assert momentum == 0.0, "RMSprop: OneFlow has no momentum greater than zero"
        options = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "centered": centered}
        super().__init__(params, options)

    def _state_names(self, group: dict[str, Any]) -> Sequence[str]:
        return self.STATE if group["centered"] else self.STATE[:1]

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        gradient = self._gradient(parameter, group)
        square = variance = state["square_avg"]
        square.mul_(group["alpha"]).addcmul_(gradient, gradient, value=1 - group["alpha"])
        if group["centered"]:
            mean = state["grad_avg"]
            mean.mul_(group["alpha"]).add_(gradient, alpha=1 - group["alpha"])
            variance = square - mean * mean
        # OneFlow adds eps inside of the root, torch outside (0.9.0, recorded).
        parameter.addcdiv_(gradient, (variance + group["eps"]).sqrt(), value=-group["lr"])
