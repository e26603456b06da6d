"""Default names of symbols: a hint and a number, after the prefix of the block that is traced."""

import threading
from typing import Any


class _ManagerType(type):
    @property
    def current(cls) -> "NameManager":
        """The current manager of this thread. It can be assigned."""
        return current()

    @current.setter
    def current(cls, manager: "NameManager") -> None:
        _local.manager = manager


class NameManager(metaclass=_ManagerType):
    """Numbers the default names of symbols, inside `with manager:`."""

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._before: list[NameManager] = []

    def get(self, name: str | None, hint: str) -> str:
        """The name, or the hint with the next number if the name is None."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> "NameManager":
        self._before.append(current())
        _local.manager = self
        return self

    def __exit__(self, *exception: Any) -> None:
        _local.manager = self._before.pop()


class Prefix(NameManager):
    """Puts a prefix before every name."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefixed name."""
        return self._prefix + super().get(name, hint)


class _Local(threading.local):
    def __init__(self) -> None:
        self.manager = NameManager()


_local = _Local()


def current() -> NameManager:
    """The current manager of this thread."""
    return _local.manager
