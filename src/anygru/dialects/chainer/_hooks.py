"""The hooks of the current thread: those for all functions and those for all links."""

import threading
from collections import OrderedDict
from typing import Any

_thread = threading.local()


def _registry(kind: str) -> OrderedDict[str, Any]:
    registry = getattr(_thread, kind, None)
    if registry is None:
        registry = OrderedDict()
        setattr(_thread, kind, registry)
    return registry


def get_function_hooks() -> OrderedDict[str, Any]:
    """The hooks that see every function of this thread, by name."""
    return _registry("function")


def get_link_hooks() -> OrderedDict[str, Any]:
    """The hooks that see every link of this thread, by name."""
    return _registry("link")


def of_function(function: Any) -> list[Any]:
    """All hooks that see a function: the thread's, then its own."""
    own = function._local_function_hooks
    return list({**get_function_hooks(), **own}.values()) if own else list(get_function_hooks().values())
