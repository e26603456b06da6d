"""Optimizers, which set parameters up for updates, and the rule by which each parameter is updated."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch

from . import optimizer_hooks
from ._update_rule import Hook, Hyperparameter, UpdateRule, _Hookable, generate_init
from ._update_rule import _OptimizerHookable as _OptimizerHookable
from .backends._tensors import as_tensor
from .link import Link
from .serializer import AbstractSerializer
from .variable import Variable

__all__ = ["GradientMethod", "Hyperparameter", "HyperparameterProxy", "Optimizer", "UpdateRule"]


class Optimizer:
    """Updates the parameters of a link. Subclass it and define `update`."""

    target: Any = None
    t: int = 0
    epoch: int = 0
    use_auto_new_epoch = False
    _hookable: _Hookable | None = None
    _loss_scale: float | None = None
    # The largest float16.
    _loss_scale_max = 65504
    _loss_scaling_is_dynamic = False
    _loss_scaling_isnan = False

    def setup(self, link: Link) -> Any:
        """Set the link to update (TypeError if it is none) and start from step 0. Returns self."""
        if not isinstance(link, Link):
            raise TypeError(f"optimization target must be a link, got {type(link)}")
        self.target = link
        self.t = 0
        self.epoch = 0
        self._hookable = _Hookable()
        return self

    def update(self, lossfun: Callable[..., Variable] | None = None, *args: Any, **kwds: Any) -> None:
        """Update the parameters; see `GradientMethod.update`."""
        raise NotImplementedError

    def new_epoch(self, auto: bool = False) -> None:
        """Count an epoch. `auto` is for updaters (RuntimeError if both count)."""
        if auto and not self.use_auto_new_epoch:
            raise RuntimeError(
                "invalid new_epoch call with auto=True.\nFix the updater to set optimizer.use_auto_new_epoch = True."
            )
        if not auto and self.use_auto_new_epoch:
            raise RuntimeError(
                "duplicated new_epoch with the updater.\n"
                "Pass auto_new_epoch=False to the updater or stop calling new_epoch outside the updater."
            )
        self.epoch += 1

    def _set_up_hooks(self) -> _Hookable:
        if self._hookable is None:
            raise RuntimeError("Optimizer is not set up. Call `setup` method.")
        return self._hookable

    def add_hook(self, hook: Hook, name: str | None = None, timing: str = "auto") -> None:
        """Call `hook(optimizer)` before ("pre") or after ("post") each update.

        Raises:
            RuntimeError: before `setup`. TypeError: not callable. KeyError: the name is taken.
        """
        self._set_up_hooks().add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Remove a hook (KeyError if the name is unknown)."""
        self._set_up_hooks().remove(name)

    def call_hooks(self, timing: str = "pre") -> None:
        """Call the hooks of a timing."""
        for hook in self._set_up_hooks().at(timing):
            self.call_hook(hook)

    def call_hook(self, hook: Hook) -> None:
        """Call a hook: for each parameter if it asks for that, for the optimizer otherwise."""
        if getattr(hook, "call_for_each_param", False):
            for param in self.target.params():
                hook(param.update_rule, param)
        else:
            hook(self)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load step, epoch and the rules' states; the link itself is not included."""
        self.t = serializer("t", self.t)
        self.epoch = serializer("epoch", self.epoch)
        for name, param in self.target.namedparams():
            if param.update_rule is not None:
                param.update_rule.serialize(serializer[name])

    def loss_scaling(self, interval: int = 1000, scale: float | None = None) -> None:
        """Scale losses by a fixed factor, or by a factor that grows over `interval` steps and is halved on overflow."""
        if scale is not None:
            if scale <= 0:
                raise ValueError(f"loss_scale must be a positive number. Actual: {scale}")
            self._loss_scale = scale
            return
        if interval < 1:
            raise ValueError(f"interval must be greater than or equal to 1. Actual: {interval}")
        self._loss_scaling_is_dynamic = True
        self._loss_scale = 1.0
        self._loss_scaling_multiplier = math.pow(2.0, 1.0 / interval)
        self._loss_scaling_isnan_ever = False

    def set_loss_scale(self, loss_scale: float) -> None:
        """Scale losses by a fixed factor."""
        self.loss_scaling(scale=loss_scale)

    def check_nan_in_grads(self) -> None:
        """With a growing loss scale: see whether a gradient has overflowed."""
        self._loss_scaling_isnan = False
        if not self._loss_scaling_is_dynamic:
            return
        for name, param in self.target.namedparams():
            if not bool(torch.isfinite(as_tensor(param.grad)).all()):
                self._loss_scaling_isnan = self._loss_scaling_isnan_ever = True
                warnings.warn(
                    f"Non finite number found in param.grad of {name} (iteration: {self.t}, "
                    f"loss_scale: {self._loss_scale})"
                )

    def is_safe_to_update(self) -> bool:
        """Whether no gradient has overflowed."""
        return not self._loss_scaling_isnan

    def update_loss_scale(self) -> None:
        """With a growing loss scale: grow or halve it."""
        if not self._loss_scaling_is_dynamic or self._loss_scale is None:
            return
        factor = (
            # Doubled until the first overflow, then by a factor that makes 2 in `interval` steps.
            0.5 if self._loss_scaling_isnan else self._loss_scaling_multiplier if self._loss_scaling_isnan_ever else 2.0
        )
        self._loss_scale = max(1, min(self._loss_scale_max, self._loss_scale * factor))


class HyperparameterProxy:
    """An attribute of an optimizer that reads and sets one of its hyperparameters."""

    def __init__(self, attr_name: str) -> None:
        self._attr_name = attr_name
        self.__doc__ = f"Alias to ``self.hyperparam.{attr_name}``"

    def __get__(self, obj: Any, type: Any = None) -> Any:
        return self if obj is None else getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj.hyperparam, self._attr_name, value)


class GradientMethod(Optimizer):
    """An optimizer that goes by gradients. Subclass it and define `create_update_rule`."""

    rule: type[UpdateRule] | None = None
    _use_cleargrads = True

    def __init_subclass__(
        cls, rule: type[UpdateRule] | None = None, arguments: str | None = None, **fixed: float
    ) -> None:
        """`class SGD(GradientMethod, rule=SGDRule)` has the hyperparameters that the rule declares.

        Args:
            rule: the update rule. Its hyperparameters become attributes, and arguments of the constructor.
            arguments: names of the constructor's arguments, in this order; by default all.
            fixed: values of other hyperparameters.
        """
        super().__init_subclass__()
        cls.rule = rule or cls.rule
        if cls.rule is None or cls.rule.defaults is None or not (rule or arguments):
            return
        defaults = cls.rule.defaults.get_dict()
        for name in defaults if rule else ():
            setattr(cls, name, HyperparameterProxy(name))
        named = {name: defaults[name] for name in (arguments.split() if arguments else defaults)}
        generate_init(cls, named, lambda self, values: super(cls, self).__init__(**fixed, **values))

    def __init__(self, **values: float) -> None:
        self.hyperparam: Any = Hyperparameter(None, **values)
        self._use_fp32_update = False

    def setup(self, link: Link) -> Any:
        super().setup(link)
        for param in link.params():
            param.update_rule = self.create_update_rule()
            if self._use_fp32_update:
                param.update_rule.use_fp32_update()
        return self

    def reallocate_cleared_grads(self) -> None:
        """Set missing gradients to zeros."""
        for _, param in self.target.namedparams(False):
            if param.grad is None:
                param.grad = param.xp.zeros_like(param.array)

    def call_hook(self, hook: Hook) -> None:
        super().call_hook(hook)
        self.reallocate_cleared_grads()

    def update(self, lossfun: Callable[..., Variable] | None = None, *args: Any, **kwds: Any) -> None:
        """Update the parameters by their gradients.

        Args:
            lossfun: a function (or link) that gives the loss; it is called with the other arguments and its gradients
                are computed first. Without it the present gradients are used.
        """
        if lossfun is not None:
            loss = lossfun(*args, **kwds)
            if self._use_cleargrads:
                self.target.cleargrads()
            else:
                self.target.zerograds()
            loss.backward(loss_scale=self._loss_scale)
            del loss
        if self.target is None:
            raise AttributeError("Optimizer has no target: call `setup` first.")
        self.reallocate_cleared_grads()
        self.check_nan_in_grads()
        self.call_hooks("pre")
        self.t += 1
        # A step that overflows does not update but counts in `t` (Chainer 7.8.1, seen).
        if self.is_safe_to_update():
            for param in self.target.params():
                param.update()
        self.reallocate_cleared_grads()
        self.call_hooks("post")
        self.update_loss_scale()

    def use_cleargrads(self, use: bool = True) -> None:
        """Choose between `cleargrads` and `zerograds` in `update`. Deprecated."""
        warnings.warn("GradientMethod.use_cleargrads is deprecated.", DeprecationWarning)
        self._use_cleargrads = use

    def create_update_rule(self) -> UpdateRule:
        """A new rule for one parameter."""
        if self.rule is None:
            raise NotImplementedError
        return self.rule(self.hyperparam)

    def use_fp32_update(self, flag: bool = True) -> None:
        """Update float16 parameters by way of float32 copies."""
        self._use_fp32_update = flag
        if self.target is not None:
            for param in self.target.params():
                # The flag is not passed on: `use_fp32_update(False)` turns the rules on (Chainer 7.8.1, seen).
                param.update_rule.use_fp32_update()


def _moved(name: str) -> Any:
    """A hook class at its former place, which warns (DeprecationWarning) when used."""
    base: Any = getattr(optimizer_hooks, name)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"chainer.optimizer.{name} is deprecated from v4. Use chainer.optimizer_hooks.{name} instead.",
            DeprecationWarning,
        )
        base.__init__(self, *args, **kwargs)

    return type(name, (base,), {"__init__": __init__, "__module__": __name__, "__doc__": base.__doc__})


WeightDecay = _moved("WeightDecay")
Lasso = _moved("Lasso")
GradientClipping = _moved("GradientClipping")
GradientNoise = _moved("GradientNoise")
GradientHardClipping = _moved("GradientHardClipping")
