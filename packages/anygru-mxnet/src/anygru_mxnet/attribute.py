"""`mx.AttrScope`: attributes that all symbols made inside a `with` get. Follows MXNet 1.9's `mxnet.attribute`."""

import threading
from collections import defaultdict
from typing import Any, ClassVar


class _Local(threading.local):
    def __init__(self) -> None:
        self.attributes: dict[str, str] = {}


_local = _Local()


class _ScopeType(type):
    @property
    def current(cls) -> "AttrScope":
        """The current scope of attributes. It can be assigned."""
        return current()

    @current.setter
    def current(cls, scope: "AttrScope") -> None:
        _local.attributes = dict(scope._attr)


class AttrScope(metaclass=_ScopeType):
    """Inside `with mx.AttrScope(ctx_group="a"):` new symbols get the attribute.

    Raises:
        ValueError: for a value that is not a string.
    """

    # The number of graphs of loops and branches with each name.
    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        if not all(isinstance(value, str) for value in kwargs.values()):
            raise ValueError("Attributes need to be string")
        self._attr = kwargs
        self._before: list[dict[str, str]] = []

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes, updated by the given attributes."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> "AttrScope":
        self._before.append(_local.attributes)
        _local.attributes = {**_local.attributes, **self._attr}
        return self

    def __exit__(self, *exception: Any) -> None:
        _local.attributes = self._before.pop()


def current() -> AttrScope:
    """The current scope of attributes."""
    return AttrScope(**_local.attributes)
