"""`paddle.fluid.optimizer`: the optimizers of Paddle 1.x, with `parameter_list` and `regularization`.

As there, `minimize(loss)` makes a step by the gradients that `loss.backward()` has left.
"""

import inspect
from typing import Any

import torch

from anygru.extend import bound

from ..optimizer import optimizers as current
from ..optimizer.optimizer import Optimizer as Optimizer
from ..tensor.creation import to_tensor
from .dygraph.learning_rate_scheduler import LearningRateDecay

_RENAMED = {"parameter_list": "parameters", "regularization": "weight_decay"}


class _Stepping(Optimizer):
    """The behaviour of optimizers in Paddle 1.x: each step asks a `LearningRateDecay` for the next rate."""

    def _apply(self, params_grads: Any) -> None:
        if isinstance(self._learning_rate, LearningRateDecay):
            self._learning_rate.advance()
        super()._apply(params_grads)

    def current_step_lr(self) -> float:
        """The learning rate of the last step."""
        return self.get_lr()

    def _global_learning_rate(self) -> torch.Tensor:
        return to_tensor([self.get_lr()], "float32")


def _first_name(optimizer: type[Optimizer], arguments: str, **defaults: Any) -> Any:
    """An optimizer under its name and with the arguments, in their order, of Paddle 1.x; `...` marks a required argument."""
    now = inspect.signature(optimizer).parameters
    parameters = []
    for name in arguments.split():
        default = defaults.get(name, now[_RENAMED.get(name, name)].default)
        default = inspect.Parameter.empty if default is ... else default
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    signature = inspect.Signature(parameters)

    def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        given = bound(signature, f"{type(self).__name__}.__init__", args, kwargs).arguments
        optimizer.__init__(self, **{_RENAMED.get(name, name): value for name, value in given.items()})

    doc = f"`paddle.optimizer.{optimizer.__name__}` with the arguments {arguments.replace(' ', ', ')}."
    members = {"__init__": __init__, "__doc__": doc, "__module__": __name__, "__signature__": signature}
    return type(f"{optimizer.__name__}Optimizer", (_Stepping, optimizer), members)


_COMMON = "parameter_list regularization grad_clip name"
SGD = SGDOptimizer = _first_name(current.SGD, f"learning_rate {_COMMON}", learning_rate=...)
Momentum = MomentumOptimizer = _first_name(
    current.Momentum,
    "learning_rate momentum parameter_list use_nesterov regularization grad_clip name",
    learning_rate=...,
    momentum=...,
)
Adam = AdamOptimizer = _first_name(current.Adam, f"learning_rate beta1 beta2 epsilon {_COMMON} lazy_mode")
Adamax = AdamaxOptimizer = _first_name(current.Adamax, f"learning_rate beta1 beta2 epsilon {_COMMON}")
Adadelta = AdadeltaOptimizer = _first_name(current.Adadelta, f"learning_rate epsilon rho {_COMMON}", learning_rate=...)
Lamb = LambOptimizer = _first_name(
    current.Lamb,
    "learning_rate lamb_weight_decay beta1 beta2 epsilon parameter_list grad_clip exclude_from_weight_decay_fn name",
)
Adagrad = AdagradOptimizer = _first_name(current.Adagrad, f"learning_rate epsilon {_COMMON} initial_accumulator_value")
RMSProp = RMSPropOptimizer = _first_name(current.RMSProp, f"learning_rate rho epsilon momentum centered {_COMMON}")
