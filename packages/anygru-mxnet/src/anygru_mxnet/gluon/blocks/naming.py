"""Names of blocks: counters of the class names, per scope, and prefixes of parents."""

import threading
from collections.abc import Callable
from typing import Any

from ... import name as symbol_names
from .parameter_dict import ParameterDict


class _Local(threading.local):
    def __init__(self) -> None:
        self.scope: BlockScope | None = None


_local = _Local()


def _next(counter: dict[str, int], hint: str) -> str:
    number = counter.get(hint, 0)
    counter[hint] = number + 1
    return f"{hint}{number}_"


def new_names(prefix: str | None, params: ParameterDict | None, hint: Callable[[], str]) -> tuple[str, ParameterDict]:
    """The prefix and the parameters of a new block in the current scope."""
    scope = _local.scope
    if scope is None:
        if prefix is None:
            prefix = symbol_names.current().get(None, hint()) + "_"
        return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
    if prefix is None:
        prefix = _next(scope.counter, hint())
    parent = scope.block
    if params is None:
        own = ParameterDict(parent.params.prefix + prefix, parent.params._shared)
    else:
        own = ParameterDict(params.prefix, params)
    return parent.prefix + prefix, own


class BlockScope:
    """Blocks that are made inside `with block.name_scope():` have the block's prefix."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.counter: dict[str, int] = {}
        self._before: list[tuple[BlockScope | None, symbol_names.Prefix]] = []

    def __enter__(self) -> "BlockScope":
        if not self.block._empty_prefix:
            names = symbol_names.Prefix(self.block.prefix)
            self._before.append((_local.scope, names))
            _local.scope = self
            names.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if not self.block._empty_prefix:
            _local.scope, names = self._before.pop()
            names.__exit__(*exception)
