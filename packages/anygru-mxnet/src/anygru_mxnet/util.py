"""`mx.util`: the choice between arrays of `mx.nd` and `mx.np`, and the environment. Follows MXNet 1.9's `mxnet.util`."""

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from .context import num_gpus
from .state import state

Function = TypeVar("Function", bound=Callable[..., Any])


def is_np_array() -> bool:
    """Whether Gluon creates arrays of `mx.np`."""
    return state.numpy


# MXNet has a switch for arrays without dimensions or elements and another switch for the class of arrays. Here both are the same
# switch.
is_np_shape = is_np_array


def is_np_default_dtype() -> bool:
    """Always False: the default dtype is float32."""
    return False


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Let Gluon create arrays of `mx.np`, in all threads.

    Raises:
        ValueError: for arrays of `mx.np` without their shapes.
        NotImplementedError: for `dtype`, which would make float64 the default dtype.
    """
    if array and not shape:
        raise ValueError("NumPy Shape semantics is required in using NumPy array semantics.")
    if dtype:
        raise NotImplementedError("npx.set_np(dtype=True) is not covered; give dtype='float64' to functions")
    type(state).numpy = array
    # A value of the thread would hide the value for all threads.
    state.__dict__.pop("numpy", None)


def reset_np() -> None:
    """Let Gluon create arrays of `mx.nd` again."""
    set_np(shape=False, array=False)


def set_np_shape(active: bool) -> bool:
    """Set the switch. Returns its previous value."""
    before = state.numpy
    set_np(active, active)
    return before


class _Scope:
    """`with np_array(active):` or `@np_array(active)`: the class of arrays that are created inside."""

    def __init__(self, active: bool = True) -> None:
        self._active = active
        self._before: list[bool] = []

    def __enter__(self) -> "_Scope":
        self._before.append(state.numpy)
        state.numpy = self._active
        return self

    def __exit__(self, *exception: Any) -> None:
        state.numpy = self._before.pop()

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._active):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


np_array = np_shape = _NumpyArrayScope = _NumpyShapeScope = _Scope


def use_np(func: Any) -> Any:
    """Decorate a function, or a class's methods, to use arrays of `mx.np`."""
    if not isinstance(func, type):
        return _Scope()(func)
    for name in ("__init__", "forward", "hybrid_forward"):
        if name in vars(func):
            setattr(func, name, _Scope()(vars(func)[name]))
    return func


use_np_array = use_np_shape = use_np


def set_module(module: str) -> Callable[[Any], Any]:
    """Decorate a function or class with another `__module__`."""

    def decorator(func: Any) -> Any:
        func.__module__ = module
        return func

    return decorator


def getenv(name: str) -> str | None:
    """The value of an environment variable."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or remove it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def makedirs(d: str) -> None:
    """Create a folder and its parents."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def get_gpu_count() -> int:
    """The number of GPUs that torch can use."""
    return num_gpus()
