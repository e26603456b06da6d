"""`Link`: an object that holds parameters."""

import collections
import collections.abc
import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from . import backend, function_hook
from ._torch_function import to_torch
from .backends import cuda
from .device_resident import DeviceResident, DeviceResidentsVisitor
from .function_hook import LinkHook, _ForwardPostprocessCallbackArgs, _ForwardPreprocessCallbackArgs
from .initializers import NaN
from .serializer import AbstractSerializer
from .types import DTypeSpec, InitializerSpec, ShapeSpec
from .variable import Parameter

_ARRAYS = (numpy.ndarray, cuda.ndarray)
_COPY_MODES = ("init", "copy", "share")


def check_mode(mode: str) -> None:
    if mode not in _COPY_MODES:
        raise ValueError(f"The 'mode' argument should be either 'init','copy', or 'share'. But {mode} was given.")


def _shape_and_dtype(value: Any) -> tuple[Any, Any]:
    """A keyword of `Link(name=value)`: a shape, or a pair of a shape and a dtype."""
    sizes = value if isinstance(value, collections.abc.Sequence) else () if value is None else (value,)
    if all(isinstance(size, (int, numpy.integer)) for size in sizes):
        return value, numpy.float32
    return value[0], value[1]


class Link(DeviceResident):
    """An object with parameters.

    Parameters are registered by assigning a `Parameter` to an attribute inside `with self.init_scope():`. A subclass
    defines `forward`, which calling the link runs.

    Args:
        params: parameters to register: `name=shape` or `name=(shape, dtype)`.
    """

    _local_link_hooks: collections.OrderedDict[str, LinkHook] | None = None
    __init_done = False  # Chainer's name, which its pickles contain

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._params: set[str] = set()
        self._persistent: set[str] = set()
        self._within_init_scope = False
        self.name: str | None = None
        self.__init_done = True
        for name, value in params.items():
            shape, dtype = _shape_and_dtype(value)
            self.add_param(name, shape, dtype=dtype)

    def _check_set_up(self) -> None:
        if not self.__init_done:
            raise RuntimeError("Link.__init__() has not been called.")

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.printable_specs)})"

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        """The (name, value) pairs shown by `str(link)`."""
        yield from ()

    @property
    def local_link_hooks(self) -> collections.OrderedDict[str, LinkHook]:
        """The hooks of this link alone, by name."""
        if self._local_link_hooks is None:
            self._local_link_hooks = collections.OrderedDict()
        return self._local_link_hooks

    @property
    def _device_id(self) -> int | None:
        """Number of the GPU that the link is on, None for the CPU. Deprecated."""
        warnings.warn(
            "Link._device_id is left only for backward compatibility and likely to be removed. Use Link.device instead.",
            DeprecationWarning,
        )
        return None if self.xp is numpy else self.device.device.id

    @property
    def within_init_scope(self) -> bool:
        """Whether we are inside `with self.init_scope():`."""
        return getattr(self, "_within_init_scope", False)

    @contextlib.contextmanager
    def init_scope(self) -> Iterator[None]:
        """A context inside which parameters (and links, in a Chain) are registered by assigning them.

        Raises:
            RuntimeError: `super().__init__()` has not been called.
        """
        self._check_set_up()
        outer = self._within_init_scope
        self._within_init_scope = True
        try:
            yield
        finally:
            self._within_init_scope = outer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.__init_done:
            self._check_set_up()
        # A `__call__` of another base class comes before `forward`, as in Chainer 7.8.1 (its issue 5078).
        forward = getattr(super(), "__call__", None) or self.forward  # noqa: B004
        if not (self._local_link_hooks or function_hook.thread.link):
            return forward(*args, **kwargs)
        hooks = function_hook.of_link(self)
        before = _ForwardPreprocessCallbackArgs(self, "forward", args, kwargs)
        for hook in hooks.values():
            hook.forward_preprocess(before)
        out = forward(*args, **kwargs)
        after = _ForwardPostprocessCallbackArgs(self, "forward", args, kwargs, out)
        for hook in hooks.values():
            hook.forward_postprocess(after)
        return out

    forward: Any
    __load_checkpoint__: Callable[..., None]
    """Load a `.npz` or HDF5 file, also a snapshot of a Trainer; `serializers`, above this file, sets it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter) and self.within_init_scope:
            value.name = name
            self._params.add(name)
            self._persistent.discard(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._params.discard(name)
        self._persistent.discard(name)
        super().__delattr__(name)

    def add_param(
        self,
        name: str,
        shape: ShapeSpec | None = None,
        dtype: DTypeSpec = numpy.float32,
        initializer: InitializerSpec = None,
    ) -> None:
        """Register a parameter.

        Args:
            name: attribute and parameter name (AttributeError if it is taken).
            shape: shape of the array; without it the parameter is left uninitialized.
            dtype: dtype of the NaN that fills it when no initializer is given; ignored otherwise.
            initializer: a callable that fills the array, a scalar, or an array.
        """
        if name in self.__dict__:
            raise AttributeError(f"cannot register a new parameter {name}: attribute exists")
        if initializer is None:
            initializer = NaN(dtype)
        parameter = Parameter(initializer, shape)
        with self.init_scope():
            setattr(self, name, parameter)

    def add_persistent(self, name: str, value: Any) -> None:
        """Register a value that is saved and loaded with the link (AttributeError if the name is taken)."""
        if name in self.__dict__:
            raise AttributeError(f"cannot register a new persistent value {name}: attribute exists")
        self._persistent.add(name)
        self._params.discard(name)
        self.__dict__[name] = value

    def register_persistent(self, name: str) -> None:
        """Save and load an existing attribute with the link (AttributeError if there is no such attribute)."""
        if not hasattr(self, name):
            raise AttributeError(f"cannot register non-existent attribute {name} as a persistent value")
        self._persistent.add(name)
        self._params.discard(name)

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> Any:
        """A link with copies of existing parameters, for links that define it."""
        raise NotImplementedError("This link does not implement `from_params`.")

    def copy(self, mode: str = "share") -> Any:
        """A copy of the link.

        Args:
            mode: "share" (new parameter objects with new gradients on the same arrays), "copy" (everything
                copied) or "init" (everything copied and initialized again); otherwise ValueError.
        """
        check_mode(mode)
        if mode != "share":
            copied = copy.deepcopy(self)
            if mode == "init":
                for parameter in copied.params(include_uninit=False):
                    parameter.initialize(parameter.shape)
            return copied
        shared = copy.copy(self)
        shared._params = set(self._params)
        shared._persistent = set(self._persistent)
        shared.name = None
        for name in shared._params:
            parameter = copy.copy(shared.__dict__[name])
            parameter.grad = None
            shared.__dict__[name] = parameter
        return shared

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        for name in self._params:
            visitor.visit_variable(self.__dict__[name])
        for name in self._persistent:
            value = self.__dict__[name]
            if isinstance(value, _ARRAYS):
                self.__dict__[name] = visitor.visit_array(value)

    def __to_torch__(self, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """A torch module that computes the same, and its example inputs; `anygru.onnx.export` calls it."""
        return to_torch(self, args)

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        """All parameters, sorted by name within each link; this link comes first.

        Args:
            include_uninit: include parameters that are not initialized yet.
        """
        for name in sorted(self._params):
            if include_uninit or self.__dict__[name].is_initialized:
                yield self.__dict__[name]

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their paths ("/child/W")."""
        for name in sorted(self._params):
            if include_uninit or self.__dict__[name].is_initialized:
                yield f"/{name}", self.__dict__[name]

    def links(self, skipself: bool = False) -> "Iterator[Link]":
        """This link (unless `skipself`) and all below it."""
        if not skipself:
            yield self

    def namedlinks(self, skipself: bool = False) -> "Iterator[tuple[str, Link]]":
        """This link (unless `skipself`) and all below it, with their paths."""
        if not skipself:
            yield "/", self

    def children(self) -> "Iterator[Link]":
        """The links directly below."""
        yield from ()

    def copyparams(self, link: Any, copy_persistent: bool = True) -> None:
        """Write the parameters of another link of the same structure into this one's arrays.

        Args:
            link: where to copy from.
            copy_persistent: also copy persistent values.
        """
        for name in self._params:
            self.__dict__[name].copydata(link.__dict__[name])
        if copy_persistent:
            for name in self._persistent:
                ours, theirs = self.__dict__[name], link.__dict__[name]
                if isinstance(ours, _ARRAYS) and isinstance(theirs, _ARRAYS):
                    backend.copyto(ours, theirs)
                else:
                    self.__dict__[name] = copy.deepcopy(theirs)

    def cleargrads(self) -> None:
        """Remove all gradients; to be called before each backward computation."""
        for parameter in self.params():
            parameter.cleargrad()

    def zerograds(self) -> None:
        """Set all gradients to zeros. Deprecated: `cleargrads` is faster."""
        warnings.warn("Link.zerograds is deprecated. Use Link.cleargrads instead.", DeprecationWarning)
        for parameter in self.params():
            parameter.zerograd()

    def addgrads(self, link: Any) -> None:
        """Add the gradients of another link of the same structure to this one's."""
        for name in self._params:
            self.__dict__[name].addgrad(link.__dict__[name])

    def _set_update_enabled(self, enabled: bool) -> None:
        for parameter in self.params():
            if parameter.update_rule is not None:
                parameter.update_rule.enabled = enabled

    def enable_update(self) -> None:
        """Let optimizers update all parameters."""
        self._set_update_enabled(True)

    def disable_update(self) -> None:
        """Keep optimizers from updating any parameter."""
        self._set_update_enabled(False)

    @property
    def update_enabled(self) -> bool:
        """Whether an optimizer updates at least one parameter."""
        return any(p.update_rule is not None and p.update_rule.enabled for p in self.params())

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load parameters and persistent values: `serializer(name, value)` for each."""
        for name in sorted(self._params):
            parameter = self.__dict__[name]
            loaded = serializer(name, parameter.array)
            if parameter.array is None and loaded is not None:
                parameter.initialize(loaded.shape)
                backend.copyto(parameter.array, loaded)
        for name in sorted(self._persistent):
            self.__dict__[name] = serializer(name, self.__dict__[name])

    repeat: Any  # `sequential.repeat`

    def count_params(self) -> int:
        """Number of scalars in all parameters; a parameter that is not initialized counts 0, with a UserWarning."""
        total = 0
        for path, parameter in self.namedparams():
            if parameter.is_initialized:
                total += parameter.size
            else:
                warnings.warn(
                    f"Parameter '{path}' has not been initialized, so the resulting count will not include the number "
                    "of parameters in it."
                )
        return total

    def add_hook(self, hook: LinkHook, name: str | None = None) -> Any:
        """Register a hook (TypeError if it is none, KeyError if the name is taken). Returns self."""
        if not isinstance(hook, LinkHook):
            raise TypeError(f"Hook must be of type LinkHook. Actual: {type(hook)}")
        name = hook.name if name is None else name
        if name in self.local_link_hooks:
            raise KeyError(f"Hook {name} already exists")
        self.local_link_hooks[name] = hook
        hook.added(self)
        return self

    def delete_hook(self, name: str) -> None:
        """Remove a hook (KeyError if the name is unknown)."""
        if name not in self.local_link_hooks:
            raise KeyError(f"Hook {name} does not exist")
        self.local_link_hooks[name].deleted(self)
        del self.local_link_hooks[name]
