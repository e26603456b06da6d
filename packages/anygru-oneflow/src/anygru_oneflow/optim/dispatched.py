"""The update rules under the names of OneFlow's C++ module, such as `oneflow._C.dispatch_sgd_update`.

OneFlow's optimizers call them in their steps, and so do programs that write such a step themselves.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from anygru.extend import single

from .optimizer import Optimizer, rounded
from .optimizers import LAMB, SGD, Adadelta, Adagrad, Adam, RMSprop

__all__ = [
    "dispatch_adadelta_update", "dispatch_adagrad_update", "dispatch_adam_update", "dispatch_ftrl_update",
    "dispatch_lamb_update", "dispatch_momentum_update", "dispatch_rmsprop_update", "dispatch_sgd_update",
]  # fmt: skip

# The optimizers' names of the options.
_NAMES = {"learning_rate": "lr", "l2": "weight_decay", "epsilon": "eps", "beta": "momentum", "decay_rate": "alpha"}
_COMMON = {"learning_rate": 0.0, "scale": 1.0, "l1": 0.0, "l2": 0.0, "weight_decay": 0.0}
_BEFORE = ("weight_decay", "scale", "l1")  # options that the rules do not have


class _Ftrl(Optimizer):
    """Follow the regularized leader (McMahan and others, 2013), with the power of the sums as OneFlow 0.9.0 has it (recorded)."""

    STATE = ("accumulator_value", "z")

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.0})

    def _update(self, parameter: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]) -> None:
        gradient, (sums, z), power = self._gradient(parameter, group), state.values(), group["lr_power"]
        before = sums**power
        after = sums.addcmul_(gradient, gradient) ** power
        z.add_(gradient - (after - before) / group["lr"] * parameter)
        length = (group["momentum"] + after) / group["lr"] + group["lambda2"]
        step = (z.sign() * group["lambda1"] - z) / length
        parameter.copy_(torch.where(z.abs() <= group["lambda1"], 0.0, step))


@functools.cache
def _rule(optimizer: Callable[[Any], Optimizer]) -> Optimizer:
    return optimizer(iter(()))  # of an empty list OneFlow's optimizers raise an error


def _dispatched(
    optimizer: Callable[[Any], Optimizer],
    name: str,
    fixed: dict[str, Any] | None = None,
    decays: Callable[[Any, dict[str, Any], float], float] = lambda rule, group, decay: single(group["lr"] * decay),
    **usual: Any,
) -> Callable[..., None]:
    """The function of an optimizer's rule.

    Args:
        fixed: options of the rule that a call cannot name.
        decays: the part of the parameter that a step subtracts, by the rule, its options and `weight_decay`, as AdamW does.
        usual: the rule's options with their defaults (recorded in 0.9.0); None: it has to.
    """
    usual = _COMMON | usual

    def call(op: Any, inputs: Sequence[torch.Tensor], **options: Any) -> None:
        """Change a parameter in place.

        Args:
            op: the kernel that an optimizer keeps, such as `_sgd`; unused, since the function's name implies it.
            inputs: the parameter, its gradient, and its tensors in the order of the optimizer's states.
        """
        given = usual | options
        if len(given) > len(usual) or None in given.values():
            raise TypeError(f"{name}() takes {', '.join(usual)}; got {', '.join(options) or 'none of them'}")
        rule, decay, scale, l1 = _rule(optimizer), *rounded({key: given.pop(key) for key in _BEFORE}).values()
        group = (fixed or {}) | rounded({_NAMES.get(option, option): value for option, value in given.items()})
        if "beta1" in group:
            group["betas"] = group["beta1"], group["beta2"]
        rule.steps = group.get("train_step_val", 1) - 1  # a step counts from 1 here, and from 0 in the rules
        parameter, gradient, *tensors = inputs
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            changed = parameter.detach()
            if isinstance(rule, Adadelta) and group["maximize"]:
                scale = -scale  # before the parts of l1 and l2, which are not turned (recorded in 0.9.0)
            gradient = gradient if scale == 1 else gradient * scale
            changed.grad = gradient + changed.sign() * l1 if l1 else gradient
            pieces = rule._pieces(changed, dict(zip(rule.STATE, tensors, strict=False)))
            if isinstance(rule, LAMB):
                rule._scaled(*pieces, group, decay)
                return
            apart = decays(rule, group, decay) * changed if decay else 0
            rule._update(*pieces, group)
            changed.sub_(apart)

    call.__name__ = call.__qualname__ = name
    return call


def _no_decay(*_: Any) -> float:
    """Adadelta's and RMSprop's: they take `weight_decay` and do nothing with it (recorded in 0.9.0)."""
    return 0.0


dispatch_sgd_update = _dispatched(
    SGD, "dispatch_sgd_update", {"momentum": 0.0, "maximize": False}, lambda rule, group, decay: group["lr"] * decay
)
dispatch_momentum_update = _dispatched(
    SGD, "dispatch_momentum_update", beta=0.9, dampening=0.0, nesterov=False, maximize=False
)
dispatch_adam_update = _dispatched(
    Adam, "dispatch_adam_update", bias_correction1=1.0, bias_correction2=1.0, beta1=0.9, beta2=0.999, epsilon=1e-8,
    amsgrad=False, do_bias_correction=True,
)  # fmt: skip
dispatch_adagrad_update = _dispatched(
    Adagrad, "dispatch_adagrad_update", decays=lambda rule, group, decay: single(rule._rate(group) * decay),
    lr_decay=0.0, epsilon=1e-10, train_step_val=0,
)  # fmt: skip
dispatch_adadelta_update = _dispatched(
    Adadelta, "dispatch_adadelta_update", decays=_no_decay, rho=None, epsilon=None, maximize=False
)
dispatch_rmsprop_update = _dispatched(
    RMSprop, "dispatch_rmsprop_update", decays=_no_decay, epsilon=1e-8, decay_rate=0.99, centered=False
)
dispatch_lamb_update = _dispatched(
    LAMB, "dispatch_lamb_update", {"amsgrad": False}, bias_correction1=1.0, bias_correction2=1.0, beta1=0.9,
    beta2=0.999, epsilon=1e-8, do_bias_correction=True,
)  # fmt: skip
dispatch_ftrl_update = _dispatched(_Ftrl, "dispatch_ftrl_update", lr_power=None, lambda1=None, lambda2=None, beta=None)
