"""`mx.AttrScope`: attributes that all symbols made inside a `with` get. Of MXNet 1.9's `mxnet.attribute`."""

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
        """The attributes in force, as a scope; they can be set."""
        return current()

    @current.setter
    def current(cls, scope: "AttrScope") -> None:
        _local.attributes = dict(scope._attr)


class AttrScope(metaclass=_ScopeType):
    """`with mx.AttrScope(ctx_group="a"):` symbols made inside have the attribute.

    Raises:
        ValueError: for a value that is not a string.
    """

    # How many graphs of loops and branches had each name.
    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        if not all(isinstance(value, str) for value in kwargs.values()):
            raise ValueError("Attributes need to be string")
        self._attr = kwargs
        self._before: list[dict[str, str]] = []

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes, and the given ones before them."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> "AttrScope":
        self._before.append(_local.attributes)
        _local.attributes = {**_local.attributes, **self._attr}
        return self

    def __exit__(self, *exception: Any) -> None:
        _local.attributes = self._before.pop()


def current() -> AttrScope:
    """The attributes in force, as a scope."""
    return AttrScope(**_local.attributes)
