"""The ways to compute a GRU, in order of speed, and the choice among them.

A backend is a module of this package with two functions:

    refuse(problem) -> str | None        a reason that the user can act on, or None to accept
    run(problem, call) -> (output, h_n)    see `reference.run`

The first in `order(problem)` that accepts a problem computes it. README.md beside this file tells how to add one.
"""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any, Protocol, cast

from torch import Tensor

from ..errors import ArgumentError, BackendError
from ..facts.problem import Call, Problem
from . import cpu_calls


class Backend(Protocol):
    """The functions of a backend's module."""

    __name__: str

    @staticmethod
    def refuse(problem: Problem) -> str | None: ...

    @staticmethod
    def run(problem: Problem, call: Call) -> tuple[Tensor, Tensor]: ...


NAMES = ("cpu", "cudnn", "aten", "triton", "reference")
"""The backends, fastest first; `order` knows the exceptions."""


def check_name(name: str) -> None:
    """Raises ArgumentError if no backend has this name."""
    if name not in NAMES:
        raise ArgumentError(f"backend must be one of {', '.join(NAMES)} or None, got {name!r}")


def load(name: str) -> Backend:
    """The module of a backend, imported when first asked for.

    Raises:
        ArgumentError: no backend has this name.
    """
    check_name(name)
    return cast(Backend, importlib.import_module(f".{name}", __name__))


@functools.lru_cache(maxsize=4096)
def choose(problem: Problem, name: str | None = None) -> Backend:
    """The first backend that accepts the problem; with a name, that backend or an error.

    Raises:
        ArgumentError: no backend has this name.
        BackendError: the named backend refuses; the message has its reason.
    """
    if name is None:
        if cpu_calls.native is None and problem.device_type == "cpu" and problem.formula.standard():
            _warn_of_missing_kernels()
        return next(backend for backend in map(load, order(problem)) if backend.refuse(problem) is None)
    backend = load(name)
    reason = backend.refuse(problem)
    if reason is not None:
        raise BackendError(f"backend={name!r} cannot take this call: {reason}")
    return backend


def order(problem: Problem) -> tuple[str, ...]:
    """The names of the backends, fastest first for this problem."""
    return NAMES if problem.products is None else ("aten", *(name for name in NAMES if name != "aten"))


@functools.lru_cache(maxsize=1)
def _warn_of_missing_kernels() -> None:
    """Once in a process."""
    warnings.warn(f"{cpu_calls.without_kernels()}: GRUs on the CPU run at torch's speed", RuntimeWarning, stacklevel=4)


@functools.lru_cache(maxsize=16)
def direct(kind: str, name: str | None = None, cuda: bool = False) -> Callable[..., Any] | None:
    """The `direct` or `direct_cell` of the device's fastest backend, or of the named one, if it has one: see README.md."""
    fastest = "cudnn" if cuda else "cpu"
    return getattr(load(fastest if name is None else name), kind, None)


def reasons(problem: Problem) -> dict[str, str | None]:
    """For each backend the reason why it refuses, or None if it accepts."""
    return {name: load(name).refuse(problem) for name in NAMES}
