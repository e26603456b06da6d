"""How one parameter is updated: hyperparameters, hooks around an update, and the base classes of update rules."""

import copy
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy
import torch

from anygru.extend import bound

from .backends import cuda
from .backends._tensors import as_tensor
from .serializer import AbstractSerializer, Deserializer
from .variable import Parameter

_ARRAYS = (numpy.ndarray, cuda.ndarray)
Hook = Callable[..., None]


class _Hookable:
    """Hooks before and after an update, by name. It and its parts are Chainer's name, which its pickles contain."""

    def __init__(self) -> None:
        self._pre_update_hooks: OrderedDict[str, Hook] = OrderedDict()
        self._post_update_hooks: OrderedDict[str, Hook] = OrderedDict()

    def add(self, hook: Hook, name: str | None, timing: str) -> None:
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

    def at(self, timing: str) -> list[Hook]:
        if timing not in ("pre", "post"):
            raise ValueError(f"timing must be either 'pre' or 'post', got {timing!r}")
        return list((self._pre_update_hooks if timing == "pre" else self._post_update_hooks).values())


_OptimizerHookable = _Hookable


def generate_init(cls: type, arguments: dict[str, Any], receive: Callable[[Any, dict[str, Any]], None]) -> None:
    """Give a class an `__init__` with these arguments and defaults; `receive` gets the object and the values by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=default) for name, default in arguments.items()]
    signature = inspect.Signature([inspect.Parameter("self", kind), *parameters])

    def __init__(self: Any, *args: Any, **kwds: Any) -> None:
        given = bound(signature, f"{cls.__name__}.__init__", (self, *args), kwds).arguments
        receive(self, {name: given[name] for name in arguments})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[misc]


class Hyperparameter:
    """Numbers that steer an update; numbers not set here come from the parent."""

    _parent: "Hyperparameter | None"

    def __init__(self, parent: "Hyperparameter | None" = None, **values: Any) -> None:
        self._parent = parent
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if "_parent" not in self.__dict__:
            raise AttributeError("_parent is not set up yet")
        return getattr(self._parent, name)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in sorted(self.get_dict().items()))
        return f"Hyperparameter({values})"

    parent = property(lambda self: self._parent, doc="Where the other values come from.")

    def get_dict(self) -> dict[str, Any]:
        """All values by name, the parents' included."""
        inherited = {} if self._parent is None else self._parent.get_dict()
        return inherited | {name: value for name, value in self.__dict__.items() if name != "_parent"}


class UpdateRule:
    """How one parameter is updated. Subclass it and define `init_state` and `update_core` (or its CPU and GPU forms)."""

    is_elementwise = False
    defaults: Hyperparameter | None = None

    def __init_subclass__(cls, **hyperparameters: float) -> None:
        """`class MyRule(UpdateRule, lr=0.1)` declares hyperparameters; `MyRule(parent_hyperparam, lr)` sets them."""
        super().__init_subclass__()
        if hyperparameters:
            cls.defaults = Hyperparameter(None, **hyperparameters)
            arguments = {"parent_hyperparam": None, **dict.fromkeys(hyperparameters)}
            generate_init(cls, arguments, lambda rule, values: UpdateRule.__init__(rule, **values))

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, **values: float | None) -> None:
        parent = parent_hyperparam if parent_hyperparam is not None else type(self).defaults
        self.hyperparam: Any = Hyperparameter(parent)
        for name, value in values.items():
            if value is not None:
                setattr(self.hyperparam, name, value)
        self.set_up()
        self.enabled = True
        self.t = 0
        self._state: dict[str, Any] | None = None
        self._use_fp32_update = False
        self._fp32_param: Parameter | None = None
        self._hookable = _Hookable()

    def set_up(self) -> None:
        """Called when the hyperparameters are set; nothing by default."""

    @property
    def state(self) -> Any:
        """Arrays that the rule keeps between updates, by name; None before the first."""
        return self._state

    def add_hook(self, hook: Hook, name: str | None = None, timing: str = "auto") -> None:
        """Call `hook(rule, parameter)` before ("pre") or after ("post") each update."""
        self._hookable.add(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Remove a hook (KeyError if the name is unknown)."""
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

    def _prepare_state(self, param: Parameter) -> None:
        if self._state is None:
            self._state = {}
            self.init_state(param)
        for name, value in self._state.items():
            if isinstance(value, _ARRAYS):
                self._state[name] = param.device.send(value)

    def update_core(self, param: Parameter) -> None:
        """Change the parameter's array in place; by default `update_core_cpu` or `update_core_gpu`."""
        if param.xp is numpy:
            self.update_core_cpu(param)
        else:
            self.update_core_gpu(param)

    def update_core_cpu(self, param: Parameter) -> None:
        """Change the NumPy array of a parameter in place."""
        raise NotImplementedError

    def update_core_gpu(self, param: Parameter) -> None:
        """Change the GPU array of a parameter in place."""
        raise NotImplementedError

    def update_core_chainerx(self, param: Parameter) -> None:
        """Never called: there is no array of ChainerX."""
        raise RuntimeError("ChainerX is not available.")

    def init_state(self, param: Parameter) -> None:
        """Fill `state` for a parameter; nothing by default."""

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the step count and the state."""
        self.t = serializer("t", self.t)
        if self._state is not None:
            for key in self._state:
                self._state[key] = serializer(key, self._state[key])
        elif isinstance(serializer, Deserializer):
            self._load_state(serializer)

    def _load_state(self, serializer: Deserializer) -> None:
        """Load the state of a rule that was not used yet; without a state in the file it remains None."""
        names: dict[str, Any] = {}
        self._state = names  # the copy and this rule share the dictionary
        copy.copy(self).init_state(Parameter(numpy.empty(1, numpy.float32)))
        self._state = None
        loaded = {}
        for key in names:
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

    def init_state(self, param: Parameter) -> None:
        for name in self.zeros:
            self.state[name] = param.xp.zeros_like(param.array)

    def update_core(self, param: Parameter) -> None:
        if param.grad is None:
            return
        array = param.array
        tensor = as_tensor(array)
        state = {name: as_tensor(value) for name, value in (self.state or {}).items()}
        with torch.no_grad():
            self.update_tensor(tensor, as_tensor(param.grad), state)
        if isinstance(array, numpy.ndarray) and tensor.data_ptr() != array.ctypes.data and array.size:
            array[...] = tensor.numpy()  # torch computed on a copy of the array

    def update_tensor(self, param: torch.Tensor, grad: torch.Tensor, state: dict[str, torch.Tensor]) -> None:
        """Change `param` and `state` in place."""
        raise NotImplementedError
