"""Open the scopes in which MXNet calls a user's functions; `tests/callback_scopes.py` lists every callback of MXNet 1.9.1."""

from collections.abc import Iterator
from contextlib import contextmanager

from .attribute import AttrScope
from .context import Context
from .name import NameManager
from .state import Scope


@contextmanager
def worker_thread(context: Context | None = None, training: bool = False) -> Iterator[None]:
    """Open the scopes of a thread of MXNet's engine: fresh names, no attributes, nothing recorded.

    Args:
        context: the current context; `cpu(0)` by default.
        training: the flag of training.
    """
    attributes = AttrScope.current
    AttrScope.current = AttrScope()
    try:
        with NameManager(), context or Context("cpu", 0), Scope(False, training):
            yield
    finally:
        AttrScope.current = attributes
