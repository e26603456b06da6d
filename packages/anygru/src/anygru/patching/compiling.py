"""Lets torch's compiler look into an accelerated torch.nn.GRU, at which it would break its graph.

Dynamo refuses every instance of torch.nn.GRU unless `torch._dynamo.config.allow_rnn` is set, which would also let it take torch's
LSTMs apart, step by step. The setting is therefore switched on for one module at a time, while dynamo looks at it.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..facts import torch_private
from .hook import AfterImport

_BUILDER = "torch._dynamo.variables.builder"
_original: Callable[[Any, nn.Module], Any] | None = None
_waiting: AfterImport | None = None


def install(is_ours: Callable[[nn.Module], bool]) -> None:
    """From now on the compiler looks into each GRU for which `is_ours` is true; waits for the compiler to be imported."""
    global _waiting
    if hasattr(sys.modules.get(_BUILDER), "VariableBuilder"):
        _patch(is_ours)
    elif _waiting is None:
        _waiting = AfterImport(_BUILDER, lambda: _patch(is_ours))
        sys.meta_path.insert(0, _waiting)


def uninstall() -> None:
    """Undo `install`."""
    global _original, _waiting
    if _waiting in sys.meta_path:
        sys.meta_path.remove(_waiting)
    _waiting = None
    if _original is not None:
        sys.modules[_BUILDER].VariableBuilder.wrap_module = _original
        _original = None


def _patch(is_ours: Callable[[nn.Module], bool]) -> None:
    global _original
    builder = sys.modules[_BUILDER].VariableBuilder
    original = getattr(builder, "wrap_module", None)
    if original is None or _original is not None or not torch_private.compiles_routes:
        return  # graphs break as without anygru

    def wrap_module(self: Any, value: nn.Module) -> Any:
        if isinstance(value, nn.GRU) and is_ours(value):
            with torch._dynamo.config.patch(allow_rnn=True):
                return original(self, value)
        return original(self, value)

    builder.wrap_module = wrap_module
    _original = original
