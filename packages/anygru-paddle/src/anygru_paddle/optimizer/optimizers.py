"""Paddle's optimizers: for each its arguments, its accumulators and its rule."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch

from ..base.framework import EagerParamBase
from ..framework.dtype import single
from ..nn.clip import ClipGradBase
from ..regularizer import L2Decay, WeightDecayRegularizer
from . import rules
from .lr import LRScheduler
from .optimizer import Group, Optimizer

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lamb", "Momentum", "RMSProp"]

Rate = float | LRScheduler
Decay = float | WeightDecayRegularizer | None
Number = float | torch.Tensor


def _given(**values: object) -> None:
    """Raise Paddle's ValueError for an argument that is None."""
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} is not set.")


def _betas(rate: object, beta1: Number, beta2: Number, epsilon: Number) -> tuple[float, float, float]:
    """The last three as numbers; one-element tensors are allowed.

    Raises:
        AssertionError: for None.
        ValueError: for a number that is not in its range.
    """
    if rate is None:
        raise AssertionError("learning_rate should not be None")
    for name, value, end in (("beta1", beta1, 1.0), ("beta2", beta2, 1.0), ("epsilon", epsilon, None)):
        if value is None:
            raise AssertionError(f"{name} should not be None")
        if float(value) < 0 or (end is not None and float(value) >= end):
            raise ValueError(f"Invaild value of {name}, expect {name} {'>= 0' if end is None else 'in [0,1)'}.")
    return float(beta1), float(beta2), float(epsilon)


class SGD(Optimizer):
    """Steps against the gradient.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        multi_precision: kept for scripts.
    """

    rule = rules.sgd

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        _given(learning_rate=learning_rate)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


class Momentum(Optimizer):
    """Steps against a velocity: momentum * velocity + gradient.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        momentum: the share of the velocity that stays.
        use_nesterov: step by gradient + momentum * velocity.
        rescale_grad: multiplies the gradients.
        multi_precision, use_multi_tensor: kept for scripts.
    """

    rule = rules.momentum
    accumulators = {"velocity": None}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        _given(learning_rate=learning_rate, momentum=momentum)
        self._momentum, self._use_nesterov = float(momentum), bool(use_nesterov)
        self._rescale_grad = float(rescale_grad)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        nesterov = bool(group.get("use_nesterov", self._use_nesterov))
        # A float32 attribute of Paddle's kernel: 0.9 is 0.89999998 for float64 parameters, too (recorded, 2.6.2).
        return {"mu": single(group.get("momentum", self._momentum)), "nesterov": nesterov}

    def _decay_term(self, regularizer: WeightDecayRegularizer, parameter: torch.Tensor) -> torch.Tensor:
        # This kernel adds an L2Decay itself, by a float32 attribute (recorded, 2.6.2).
        if isinstance(regularizer, L2Decay):
            return torch.mul(parameter, single(regularizer._coeff))
        return super()._decay_term(regularizer, parameter)

    def _treated(self, params_grads: Any) -> Any:
        steps = super()._treated(params_grads)
        if self._rescale_grad == 1.0:
            return steps
        return [(group, parameter, torch.mul(gradient, self._rescale_grad)) for group, parameter, gradient in steps]


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of all its squares.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        epsilon: added to the root.
        initial_accumulator_value: the first value of the sum.
    """

    rule = rules.adagrad
    accumulators = {"moment": None}

    def __init__(
        self,
        learning_rate: Rate,
        epsilon: float = 1e-6,
        parameters: Iterable[Any] | None = None,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        # Some of Paddle's classes raise ValueError, some AssertionError (recorded, 2.6.2).
        if learning_rate is None or epsilon is None:
            raise AssertionError("Adagrad: learning_rate and epsilon must be given")
        self._epsilon, self._initial = float(epsilon), float(initial_accumulator_value)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        return {"epsilon": single(group.get("epsilon", self._epsilon))}

    def _firsts(self, group: Group) -> dict[str, Any]:
        return self._own(group, initial_accumulator_value=self._initial)

    def _start(self, name: str, parameter: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
        return torch.full_like(parameter, float(options["initial_accumulator_value"]))


class Adadelta(Optimizer):
    """Steps by the gradient times the ratio of the root mean squares of past steps and past gradients.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        epsilon: added under both roots.
        rho: the share of both means that stays.
    """

    rule = rules.adadelta
    accumulators = {"_avg_squared_grad": None, "_avg_squared_update": None}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Iterable[Any] | None = None,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        name: str | None = None,
    ) -> None:
        _given(learning_rate=learning_rate, epsilon=epsilon, rho=rho)
        self._epsilon, self._rho = float(epsilon), float(rho)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        own = self._own(group, rho=self._rho, epsilon=self._epsilon)
        return {name: single(number) for name, number in own.items()}


class RMSProp(Optimizer):
    """Steps by the gradient over the root of the mean of its squares.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        rho: the share of the mean that stays.
        epsilon: added under the root.
        momentum: the share of the last step that stays.
        centered: subtract the square of the mean gradient.
    """

    rule = rules.rmsprop
    accumulators = {"momentum": None, "mean_square": None, "mean_grad": None}

    def __init__(
        self,
        learning_rate: Rate,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Iterable[Any] | None = None,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        name: str | None = None,
    ) -> None:
        _given(learning_rate=learning_rate, rho=rho, epsilon=epsilon, momentum=momentum)
        for given, number in (("epsilon", epsilon), ("momentum", momentum), ("rho", rho)):
            if number < 0:
                raise ValueError(f"Invalid value of {given}, expect {given} >= 0.")
        self._rho, self._epsilon, self._momentum, self._centered = rho, epsilon, momentum, centered
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        own = self._own(group, rho=self._rho, epsilon=self._epsilon, momentum=self._momentum)
        return {**{key: single(each) for key, each in own.items()}, "centered": group.get("centered", self._centered)}


class Adam(Optimizer):
    """Steps by the mean of the gradients over the root of the mean of their squares.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        beta1, beta2: the shares of the two means that stay, in [0, 1).
        epsilon: added to the root.
        lazy_mode: rows of an `Embedding(sparse=True)` without a gradient keep their values and means.
        multi_precision, use_multi_tensor: kept for scripts; parameters are stepped in their own precision.
    """

    rule: ClassVar[Callable[..., None] | None] = rules.adam
    accumulators = {"moment1": None, "moment2": None, "beta1_pow_acc": "beta1", "beta2_pow_acc": "beta2"}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        _betas(learning_rate, beta1, beta2, epsilon)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self._lazy_mode, self._use_multi_tensor = lazy_mode, use_multi_tensor
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        # The kernel takes these options in the parameter's precision: 1 - 0.999f is 1.3e-5 off (recorded from Paddle 2.6.2).
        rounded = float if parameter.dtype == torch.float64 else single
        own = self._own(group, beta1=self._beta1, beta2=self._beta2, epsilon=self._epsilon)
        lazy = group.get("lazy_mode", self._lazy_mode) and getattr(parameter, "sparse_gradient", False)
        return {name: rounded(float(number)) for name, number in own.items()} | ({"lazy": True} if lazy else {})

    def _firsts(self, group: Group) -> dict[str, Any]:
        # The powers of betas that are tensors start at the defaults (recorded, 2.6.2).
        own = self._own(group, beta1=self._beta1, beta2=self._beta2).items()
        return {name: {"beta1": 0.9, "beta2": 0.999}[name] for name, beta in own if isinstance(beta, torch.Tensor)}


class AdamW(Adam):
    """Adam with decoupled weight decay: parameters shrink by learning_rate * weight_decay, gradients do not change.

    Args:
        learning_rate, beta1, beta2, epsilon, parameters, grad_clip, lazy_mode, multi_precision, name: as of `Adam`.
        weight_decay: a number, 0.01 unless given.
        lr_ratio: gives a parameter's factor on the learning rate.
        apply_decay_param_fun: given a parameter's name, whether it decays; all do unless given.
    """

    rule = rules.adamw

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: Number = 0.01,
        lr_ratio: Callable[[EagerParamBase], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: ClipGradBase | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        # An int is refused here, though not as another optimizer's weight_decay (recorded, 2.6.2).
        if weight_decay is None or not isinstance(weight_decay, (float, torch.Tensor)):
            raise TypeError("weight_decay should be float or Tensor.")
        if lr_ratio is not None and not callable(lr_ratio):
            raise AssertionError("lr_ratio must be a function of a parameter")
        self._coeff, self._lr_ratio = float(weight_decay), lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun
        super().__init__(
            learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, False, multi_precision, False, name
        )

    # A group's weight_decay is the rate of its decay, and no regularizer that enters the gradients.
    def _own_group(self, group: Group) -> None:
        for parameter in group["params"]:
            parameter.optimize_attr = {"learning_rate": group.get("learning_rate", 1.0)}

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        decays = (self._apply_decay_param_fun or (lambda _: True))(parameter.name)
        options = super()._options(parameter, {**group, "lazy_mode": False})  # Paddle ends the process
        return {**options, "decay": single(group.get("weight_decay", self._coeff)) * decays}

    def _rate_factor(self, parameter: EagerParamBase, group: Group) -> float:
        factor = super()._rate_factor(parameter, group)
        return factor if self._lr_ratio is None else factor * float(self._lr_ratio(parameter))


class Adamax(Optimizer):
    """Adam with the largest gradient instead of the mean square.

    Args:
        learning_rate, parameters, weight_decay, grad_clip, name: as of `Optimizer`.
        beta1, beta2: the shares of mean and maximum that stay, in [0, 1).
        epsilon: added to the maximum.
    """

    rule = rules.adamax
    accumulators = {"moment": None, "inf_norm": None, "beta1_pow_acc": "beta1"}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Any] | None = None,
        weight_decay: Decay = None,
        grad_clip: ClipGradBase | None = None,
        name: str | None = None,
    ) -> None:
        self._beta1, self._beta2, self._epsilon = _betas(learning_rate, beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        own = self._own(group, beta1=self._beta1, beta2=self._beta2, epsilon=self._epsilon)
        return {**own, "epsilon": single(own["epsilon"])}


class Lamb(Optimizer):
    """Adam scaled by the norms of parameter and update, for large batches.

    Args:
        learning_rate, parameters, grad_clip, name: as of `Optimizer`.
        lamb_weight_decay: added to the update, times the parameter.
        beta1, beta2, epsilon: as of `Adam`.
        exclude_from_weight_decay_fn: takes a parameter; True excludes it from the decay.
        multi_precision: kept for scripts.
        always_adapt: also scale the updates of parameters that do not decay.
    """

    rule = rules.lamb
    accumulators = {"moment1": None, "moment2": None, "beta1_pow_acc": "beta1", "beta2_pow_acc": "beta2"}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameters: Iterable[Any] | None = None,
        grad_clip: ClipGradBase | None = None,
        exclude_from_weight_decay_fn: Callable[[EagerParamBase], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        self._beta1, self._beta2, self._epsilon = _betas(learning_rate, beta1, beta2, epsilon)
        self._always_adapt = bool(always_adapt)
        self._decay, self._excluded = float(lamb_weight_decay), exclude_from_weight_decay_fn
        super().__init__(learning_rate, parameters, None, grad_clip, name)

    def _options(self, parameter: EagerParamBase, group: Group) -> dict[str, Any]:
        options = self._own(group, beta1=self._beta1, beta2=self._beta2, epsilon=self._epsilon)
        options["epsilon"] = single(options["epsilon"])
        excluded = group.get("exclude_from_weight_decay_fn", self._excluded) or (lambda _: False)
        decay = 0.0 if excluded(parameter) else single(group.get("lamb_weight_decay", self._decay))
        # Paddle 2.6.2 does not scale the updates of parameters that do not decay (recorded).
        return {**options, "decay": decay if decay or self._always_adapt else None}
