"""Optimizers: what sets parameters up for updates, and the rule by which each parameter is updated."""

from __future__ import annotations

import copy
import math
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy
import torch

from . import optimizer_hooks
from ._tensors import as_tensor
from .backends import cuda
from .link import Link
from .serializer import Deserializer
from .variable import Parameter, Variable

_ARRAYS = (numpy.ndarray, cuda.ndarray)


class _Hookable:
    """Hooks before and after an update, by name. It and its parts are named as in Chainer, whose pickles are read."""

    def __init__(self) -> None:
        self._pre_update_hooks: OrderedDict[str, Any] = OrderedDict()
        self._post_update_hooks: OrderedDict[str, Any] = OrderedDict()

    def add(self, hook: Any, name: str | None, timing: str) -> None:
        if not callable(hook):
            raise TypeError(f"hook function must be callable, got {type(hook)}")
        if timing not in ("pre", "post", "auto"):
            raise ValueError(f"timing must be one of ('pre', 'post', 'auto'), got {timing!r}")
        if timing == "auto":
            timing = getattr(hook, "timing", "pre")
            if timing not in ("pre", "post"):
                warnings.warn("Hook timing attribute not in ('pre', 'post'), defaulting timing to 'pre'.")
                timing = "pre"
        if name is None:
            name = getattr(hook, "name", getattr(hook, "__name__", None))
            if name is None:
                raise ValueError("the name of the hook function is not specified")
        if name in self._pre_update_hooks or name in self._post_update_hooks:
            raise KeyError(f'hook "{name}" already exists')
        (self._pre_update_hooks if timing == "pre" else self._post_update_hooks)[name] = hook

    def remove(self, name: str) -> None:
        del (self._pre_update_hooks if name in self._pre_update_hooks else self._post_update_hooks)[name]

    def at(self, timing: str) -> list[Any]:
        if timing not in ("pre", "post"):
            raise ValueError(f"timing must be either 'pre' or 'post', got {timing!r}")
        return list((self._pre_update_hooks if timing == "pre" else self._post_update_hooks).values())


_OptimizerHookable = _Hookable


class Hyperparameter:
    """Numbers that steer an update; what is not set here comes from the parent."""

    _parent: Hyperparameter | None

    def __init__(self, parent: Hyperparameter | None = None, **values: Any) -> None:
        self._parent = parent
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if "_parent" not in self.__dict__:
            raise AttributeError("_parent is not set up yet")
        return getattr(self._parent, name)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in sorted(self.get_dict().items()))
        return f"Hyperparameter({values})"

    @property
    def parent(self) -> Hyperparameter | None:
        """Where the other values come from."""
        return self._parent

    def get_dict(self) -> dict[str, Any]:
        """All values by name, the parents' included."""
        inherited = {} if self._parent is None else self._parent.get_dict()
        return inherited | {name: value for name, value in self.__dict__.items() if name != "_parent"}


class UpdateRule:
    """How one parameter is updated. Subclass it and define `init_state` and `update_core` (or its CPU and GPU forms)."""

    is_elementwise = False
    defaults: Hyperparameter | None = None

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, **values: Any) -> None:
        parent = parent_hyperparam if parent_hyperparam is not None else type(self).defaults
        self.hyperparam: Any = Hyperparameter(parent)
        for name, value in values.items():
            if value is not None:
                setattr(self.hyperparam, name, value)
        self.enabled = True
        self.t = 0
        self._state: dict[str, Any] | None = None
        self._use_fp32_update = False
        self._fp32_param: Parameter | None = None
        self._hookable = _Hookable()

    @property
    def state(self) -> Any:
        """Arrays that the rule keeps between updates, by name; None before the first."""
        return self._state

    def add_hook(self, hook: Any, name: str | None = None, timing: str = "auto") -> None:
        """Call `hook(rule, parameter)` before ("pre") or after ("post") each update."""
        self._hookable.add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Remove a hook (KeyError if there is none of this name)."""
        self._hookable.remove(name)

    def update(self, param: Parameter) -> None:
        """Update a parameter by its gradient, if the rule is enabled."""
        if not self.enabled:
            return
        self.t += 1
        initialized = param.array is not None
        in_fp32 = self._use_fp32_update and initialized and param.dtype == numpy.float16
        target: Any = self._as_fp32(param) if in_fp32 else param
        if initialized:
            self._prepare_state(target)
            if param._loss_scale is not None and target.grad is not None:
                target.grad = target.grad / target.dtype.type(param._loss_scale)
        for hook in self._hookable.at("pre"):
            hook(self, target)
        self.update_core(target)
        for hook in self._hookable.at("post"):
            hook(self, target)
        if in_fp32:
            param.array = target.array.astype(param.dtype)
            target.grad = None

    def _as_fp32(self, param: Parameter) -> Parameter:
        if self._fp32_param is None:
            self._fp32_param = Parameter(param.array.astype(numpy.float32), name=param.name)
        self._fp32_param.grad = None if param.grad is None else param.grad.astype(numpy.float32)
        return self._fp32_param

    def _prepare_state(self, param: Any) -> None:
        if self._state is None:
            self._state = {}
            self.init_state(param)
        for name, value in self._state.items():
            if isinstance(value, _ARRAYS):
                self._state[name] = param.device.send(value)

    def update_core(self, param: Any) -> None:
        """Change the parameter's array in place; by default `update_core_cpu` or `update_core_gpu`."""
        if param.xp is numpy:
            self.update_core_cpu(param)
        else:
            self.update_core_gpu(param)

    def update_core_cpu(self, param: Any) -> None:
        """Change the NumPy array of a parameter in place."""
        raise NotImplementedError

    def update_core_gpu(self, param: Any) -> None:
        """Change the GPU array of a parameter in place."""
        raise NotImplementedError

    def init_state(self, param: Any) -> None:
        """Fill `state` for a parameter; nothing by default."""

    def serialize(self, serializer: Any) -> None:
        """Save or load the step count and the state."""
        self.t = serializer("t", self.t)
        if self._state is not None:
            for key in self._state:
                self._state[key] = serializer(key, self._state[key])
        elif isinstance(serializer, Deserializer):
            self._load_state(serializer)

    def _load_state(self, serializer: Any) -> None:
        """Load the state of a rule that has none yet; it stays without if the file has none either."""
        probe = copy.copy(self)
        probe._state = {}
        array = numpy.empty(1, numpy.float32)
        probe.init_state(Variable(array, grad=array))
        loaded = {}
        for key in probe._state:
            try:
                loaded[key] = serializer(key, None)
            except KeyError:
                if self.enabled:
                    raise
                loaded[key] = None
            if loaded[key] is None:
                return
        self._state = loaded

    def use_fp32_update(self, flag: bool = True) -> None:
        """Update float16 parameters by way of a float32 copy."""
        self._use_fp32_update = flag


class TorchRule(UpdateRule):
    """A rule in torch's arithmetic: define `update_tensor`; `zeros` names the state arrays that start as zeros."""

    is_elementwise = True
    zeros: tuple[str, ...] = ()

    def init_state(self, param: Any) -> None:
        for name in self.zeros:
            self.state[name] = param.xp.zeros_like(param.array)

    def update_core(self, param: Any) -> None:
        if param.grad is None:
            return
        array = param.array
        tensor = as_tensor(array)
        state = {name: as_tensor(value) for name, value in (self.state or {}).items()}
        with torch.no_grad():
            self.update_tensor(tensor, as_tensor(param.grad), state)
        if isinstance(array, numpy.ndarray) and tensor.data_ptr() != array.ctypes.data and array.size:
            array[...] = tensor.numpy()  # an array that torch cannot view

    def update_tensor(self, param: torch.Tensor, grad: torch.Tensor, state: dict[str, torch.Tensor]) -> None:
        """Change `param` and `state` in place."""
        raise NotImplementedError


class Optimizer:
    """Updates the parameters of a link. Subclass it and define `update`."""

    target: Any = None
    t: int = 0
    epoch: int = 0
    use_auto_new_epoch = False
    _hookable: _Hookable | None = None
    _loss_scale: float | None = None
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

    def add_hook(self, hook: Any, name: str | None = None, timing: str = "auto") -> None:
        """Call `hook(optimizer)` before ("pre") or after ("post") each update.

        Raises:
            RuntimeError: before `setup`. TypeError: not callable. KeyError: the name is taken.
        """
        self._set_up_hooks().add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Remove a hook (KeyError if there is none of this name)."""
        self._set_up_hooks().remove(name)

    def call_hooks(self, timing: str = "pre") -> None:
        """Call the hooks of a timing."""
        for hook in self._set_up_hooks().at(timing):
            self.call_hook(hook)

    def call_hook(self, hook: Any) -> None:
        """Call a hook: for each parameter if it asks for that, else for the optimizer."""
        if getattr(hook, "call_for_each_param", False):
            for param in self.target.params():
                hook(param.update_rule, param)
        else:
            hook(self)

    def serialize(self, serializer: Any) -> None:
        """Save or load step, epoch and the rules' states; the link itself is not included."""
        self.t = serializer("t", self.t)
        self.epoch = serializer("epoch", self.epoch)
        for name, param in self.target.namedparams():
            if param.update_rule is not None:
                param.update_rule.serialize(serializer[name])

    def loss_scaling(self, interval: int = 1000, scale: float | None = None) -> None:
        """Scale losses by a fixed factor, or by one that grows every `interval` steps and halves on overflow."""
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
            0.5 if self._loss_scaling_isnan else self._loss_scaling_multiplier if self._loss_scaling_isnan_ever else 2.0
        )
        self._loss_scale = max(1, min(self._loss_scale_max, self._loss_scale * factor))


class GradientMethod(Optimizer):
    """An optimizer that goes by gradients. Subclass it and define `create_update_rule`."""

    rule: type[UpdateRule] | None = None
    _use_cleargrads = True

    def __init__(self, **values: Any) -> None:
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
        """Give parameters without a gradient one of zeros."""
        for _, param in self.target.namedparams(False):
            if param.grad is None:
                param.grad = param.xp.zeros_like(param.array)

    def call_hook(self, hook: Any) -> None:
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
                param.update_rule.use_fp32_update()


class HyperparameterProxy:
    """An attribute of an optimizer that stands for one of its hyperparameters."""

    def __init__(self, attr_name: str) -> None:
        self._attr_name = attr_name
        self.__doc__ = f"Alias to ``self.hyperparam.{attr_name}``"

    def __get__(self, obj: Any, type: Any = None) -> Any:
        return self if obj is None else getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj.hyperparam, self._attr_name, value)


def _moved(name: str) -> Any:
    """A hook class at its former place, which warns (DeprecationWarning) when used."""
    base: Any = getattr(optimizer_hooks, name)

    class Moved(base):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            warnings.warn(
                f"chainer.optimizer.{name} is deprecated from v4. Use chainer.optimizer_hooks.{name} instead.",
                DeprecationWarning,
            )
            super().__init__(*args, **kwargs)

    Moved.__name__ = Moved.__qualname__ = name
    return Moved


WeightDecay = _moved("WeightDecay")
Lasso = _moved("Lasso")
GradientClipping = _moved("GradientClipping")
GradientNoise = _moved("GradientNoise")
GradientHardClipping = _moved("GradientHardClipping")
