"""The handles that a layer's hooks are taken off by, and the table that an attribute of a layer belongs to."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from ...base.framework import EagerParamBase


class HookRemoveHelper:
    """Takes a forward hook off again; a second `remove` does nothing."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def remove(self) -> None:
        """Remove the hook."""
        self._handle.remove()


class StateDictHook:
    """One entry of `_state_dict_hooks`, under Paddle's numbering."""

    _next = 0

    def __init__(self, hooks: OrderedDict[int, Any], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self._number = StateDictHook._next
        StateDictHook._next += 1
        hooks[self._number] = hook

    def remove(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self._number, None)


def assign(layer: torch.nn.Module, name: str, value: Any) -> None:
    """Make `value` the attribute `name`, in the table that its kind belongs to.

    Raises:
        ValueError: for a parameter or layer before the layer itself is initialized.
        TypeError: for a value of another kind than the attribute's.
    """
    tables = layer.__dict__
    parameters, modules, buffers = tables.get("_parameters"), tables.get("_modules"), tables.get("_buffers")
    if parameters is None or modules is None or buffers is None:
        if isinstance(value, (EagerParamBase, torch.nn.Module)):
            raise ValueError("super().__init__() should be called first")
        object.__setattr__(layer, name, value)
    elif isinstance(value, EagerParamBase):
        _forget(name, tables, modules, buffers)
        parameters[name] = value
    elif name in parameters:
        if value is not None:
            raise TypeError(
                f"assignment to parameter '{name}' should be of type Parameter or None, but got '{type(value).__name__}'"
            )
        parameters[name] = None
    elif isinstance(value, torch.nn.Module):
        _forget(name, tables, parameters, buffers)
        modules[name] = value
    elif name in modules:
        if value is not None:
            raise TypeError(
                f"assignment to sublayer '{name}' should be of type Layer or None, but got '{type(value).__name__}'"
            )
        modules[name] = None
    elif name in buffers:
        if value is not None and not isinstance(value, torch.Tensor):
            raise TypeError(
                f"assignment to buffers '{name}' should be of type core.Tensor or None, but got '{type(value).__name__}'"
            )
        buffers[name] = value
    elif isinstance(value, torch.Tensor):
        tables.pop(name, None)
        # A tensor other than a parameter becomes a buffer outside the state (recorded, 2.6.2); in torch it stays a plain
        # attribute.
        layer._non_persistent_buffers_set.add(name)
        buffers[name] = value
    else:
        object.__setattr__(layer, name, value)


def _forget(name: str, *tables: Any) -> None:
    """Take an attribute out of the tables that it is in."""
    for table in tables:
        if name in table:
            del table[name]
