"""`paddle.fluid.optimizer`: the optimizers of Paddle 1.x, with `parameter_list` and `regularization`.

As there, `minimize(loss)` makes a step by the gradients that `loss.backward()` has left.
"""

import inspect
from typing import Any

from ..optimizer import optimizers as current
from ..optimizer.optimizer import Optimizer as Optimizer

__all__ = [
    "SGD", "Adagrad", "AdagradOptimizer", "Adam", "AdamOptimizer", "Adamax", "AdamaxOptimizer", "Momentum",
    "MomentumOptimizer", "Optimizer", "RMSProp", "RMSPropOptimizer", "SGDOptimizer",
]  # fmt: skip

_RENAMED = {"parameter_list": "parameters", "regularization": "weight_decay"}


def _first_name(optimizer: type[Optimizer], arguments: str, **defaults: Any) -> Any:
    """An optimizer under its name and with the arguments, in their order, of Paddle 1.x; `...` marks one without default."""
    now = inspect.signature(optimizer).parameters
    parameters = []
    for name in arguments.split():
        default = defaults.get(name, now[_RENAMED.get(name, name)].default)
        default = inspect.Parameter.empty if default is ... else default
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    signature = inspect.Signature(parameters)

    def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        optimizer.__init__(self, **{_RENAMED.get(name, name): value for name, value in bound.arguments.items()})

    doc = f"`paddle.optimizer.{optimizer.__name__}` with the arguments {arguments.replace(' ', ', ')}."
    members = {"__init__": __init__, "__doc__": doc, "__module__": __name__, "__signature__": signature}
    return type(f"{optimizer.__name__}Optimizer", (optimizer,), members)


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
Adagrad = AdagradOptimizer = _first_name(current.Adagrad, f"learning_rate epsilon {_COMMON} initial_accumulator_value")
RMSProp = RMSPropOptimizer = _first_name(current.RMSProp, f"learning_rate rho epsilon momentum centered {_COMMON}")
