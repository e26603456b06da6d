"""The ways to compute a GRU, in order of speed, and the choice among them.

A backend is a module of this package with a `Backend` named `BACKEND`. The first in `order(problem)` that accepts a problem
computes it. README.md in this folder explains how to add a backend.
"""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, BackendError, near
from ..facts.problem import Problem
from . import cpu_calls
from .backend import Backend

NAMES = ("cpu", "cudnn", "aten", "triton", "reference")
"""The backends, fastest first; `order` has the exceptions."""


def check_name(name: str) -> None:
    """Raises ArgumentError if no backend has this name."""
    if name not in NAMES:
        raise ArgumentError(f"backend must be one of {', '.join(NAMES)} or None, got {name!r}{near(str(name), NAMES)}")


def load(name: str) -> Backend:
    """The backend of this name; its module is imported at the first use.

    Raises:
        ArgumentError: no backend has this name.
    """
    check_name(name)
    backend: Backend = importlib.import_module(f".{name}", __name__).BACKEND
    return backend


@functools.lru_cache(maxsize=4096)
def choose(problem: Problem, name: str | None = None) -> Backend:
    """The first backend that accepts the problem; with a name, that backend or an error.

    Raises:
        ArgumentError: no backend has this name.
        BackendError: the named backend refuses; the message has its reason.
    """
    if name is None:
        if cpu_calls.native is None and problem.device_type == "cpu" and problem.formula.named():
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
    warnings.warn(
        f"{cpu_calls.without_kernels()}: GRUs on the CPU run at torch's speed, or slower", RuntimeWarning, stacklevel=4
    )


@functools.lru_cache(maxsize=16)
def fast_path(is_cell: bool, is_cuda: bool, name: str | None = None) -> Callable[..., Any] | None:
    """The `direct` or `direct_cell` of the first backend in `NAMES` that has one for this device, or of the named one."""
    device_type = "cuda" if is_cuda else "cpu"
    found = (load(one) for one in (NAMES if name is None else (name,)))
    backend = next((one for one in found if one.device_type == device_type), None)
    if backend is None:
        return None
    return backend.direct_cell if is_cell else backend.direct


def reasons(problem: Problem) -> dict[str, str | None]:
    """For each backend the reason why it refuses, or None if it accepts."""
    return {name: load(name).refuse(problem) for name in NAMES}
