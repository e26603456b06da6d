"""Devices as MXNet names them: `mx.cpu(0)`, `mx.gpu(1)` and the current one.

CPU contexts of different numbers are one memory, as in MXNet, and keep their numbers: a parameter may live on
`cpu(0)` and `cpu(1)` as two copies. Follows MXNet 1.9's `mxnet.context`.
"""

import threading
from collections.abc import Sequence
from typing import Any

import torch

from .base import MXNetError

__all__ = ["Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus"]


class _Current(threading.local):
    def __init__(self) -> None:
        self.value = Context("cpu", 0)


class _ContextType(type):
    @property
    def default_ctx(cls) -> "Context":
        """The current context, as `current_context()` returns it. It can be assigned."""
        return _current.value

    @default_ctx.setter
    def default_ctx(cls, context: "Context") -> None:
        _current.value = context


class Context(metaclass=_ContextType):
    """A device of the type "cpu", "gpu", "cpu_pinned" or "cpu_shared", with a number. `with ctx:` makes it the current one."""

    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}

    __slots__ = ("_before", "_device", "device_id", "device_typeid")

    def __init__(self, device_type: "str | Context", device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_id = device_type.device_id
            device_type = device_type.device_type
        self.device_typeid: int = self.devstr2type[device_type]
        self.device_id: int = device_id
        self._before: list[Context] = []
        self._device: torch.device | None = None

    @property
    def device_type(self) -> str:
        """The name of the device type."""
        return self.devtype2str[self.device_typeid]

    @property
    def device(self) -> torch.device:
        """The torch device behind the context.

        Raises:
            MXNetError: for a GPU that this machine does not have.
        """
        if self._device is None:
            if self.device_typeid == 2:
                if self.device_id >= num_gpus():
                    raise MXNetError(f"{self}: this machine has {num_gpus()} GPUs that torch can use")
                self._device = torch.device("cuda", self.device_id)
            else:
                self._device = torch.device("cpu")
        return self._device

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __enter__(self) -> "Context":
        self._before.append(_current.value)
        _current.value = self
        return self

    def __exit__(self, *exception: Any) -> None:
        _current.value = self._before.pop()

    def __reduce__(self) -> tuple:
        return (Context, (self.device_type, self.device_id))

    def empty_cache(self) -> None:
        """Release the cached memory of a GPU."""
        if self.device_typeid == 2:
            torch.cuda.empty_cache()


# MXNet's name for this attribute: `mxnet.test_utils` sets the value of `Context._default_ctx`.
Context._default_ctx = _current = _Current()  # type: ignore[attr-defined]


def cpu(device_id: int = 0) -> Context:
    """A CPU context."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """A CPU context of pinned memory."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """A GPU context."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """The number of GPUs that torch can use."""
    return torch.cuda.device_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total memory of a GPU, in bytes."""
    return torch.cuda.mem_get_info(gpu(device_id).device)


def current_context() -> Context:
    """The context of the innermost `with`; `cpu(0)` outside of any `with`."""
    return _current.value


ContextLike = Context | str | Sequence[Context] | None


def as_context(ctx: Any) -> Context:
    """A context from an argument: None (the current context), a context, or its text in a symbol's file."""
    if ctx is None:
        return current_context()
    if isinstance(ctx, Context):
        return ctx
    if isinstance(ctx, str):
        kind, _, number = ctx.rstrip(")").partition("(")
        if kind in Context.devstr2type and (number or "0").isdigit():
            return Context(kind, int(number or 0))
    raise TypeError(f"ctx must be a Context such as mx.cpu(), got {ctx!r}")
