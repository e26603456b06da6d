"""`paddle.fluid.optimizer`: the optimizers of Paddle 1.x, with `parameter_list` and `regularization`.

As there, `minimize(loss)` makes a step by the gradients that `loss.backward()` has left.
"""

from __future__ import annotations

from typing import Any

from .. import optimizer as current


class SGDOptimizer(current.SGD):
    """See `paddle.optimizer.SGD`."""

    def __init__(
        self,
        learning_rate: Any,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name=name)


class MomentumOptimizer(current.Momentum):
    """See `paddle.optimizer.Momentum`."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        parameter_list: Any = None,
        use_nesterov: bool = False,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, momentum, parameter_list, use_nesterov, regularization, grad_clip, name=name)


class AdamOptimizer(current.Adam):
    """See `paddle.optimizer.Adam`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        lazy_mode: bool = False,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, parameter_list, regularization, grad_clip, lazy_mode, name=name
        )


class AdamaxOptimizer(current.Adamax):
    """See `paddle.optimizer.Adamax`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameter_list, regularization, grad_clip, name)


class AdagradOptimizer(current.Adagrad):
    """See `paddle.optimizer.Adagrad`."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        super().__init__(
            learning_rate, epsilon, parameter_list, regularization, grad_clip, name, initial_accumulator_value
        )


class RMSPropOptimizer(current.RMSProp):
    """See `paddle.optimizer.RMSProp`."""

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            learning_rate, rho, epsilon, momentum, centered, parameter_list, regularization, grad_clip, name
        )


SGD, Momentum, Adam, Adamax = SGDOptimizer, MomentumOptimizer, AdamOptimizer, AdamaxOptimizer
Adagrad, RMSProp = AdagradOptimizer, RMSPropOptimizer
Optimizer = current.Optimizer
