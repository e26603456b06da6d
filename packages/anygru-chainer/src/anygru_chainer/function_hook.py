"""Hooks that see functions run, the hooks of the current thread, and the base class of all hooks."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any


class _Thread(threading.local):
    """The hooks of a thread."""

    def __init__(self) -> None:
        self.function: OrderedDict[str, Any] = OrderedDict()
        self.link: OrderedDict[str, Any] = OrderedDict()


thread = _Thread()


def get_function_hooks() -> OrderedDict[str, Any]:
    """The hooks that see every function of this thread, by name."""
    return thread.function


def get_link_hooks() -> OrderedDict[str, Any]:
    """The hooks that see every link of this thread, by name."""
    return thread.link


def of_function(function: Any) -> list[Any]:
    """All hooks that see a function: the thread's, then its own."""
    return list({**thread.function, **(function._local_function_hooks or {})}.values())


def of_link(link: Any) -> dict[str, Any]:
    """All hooks that see a link, by name: the thread's, then its own."""
    return {**thread.link, **(link._local_link_hooks or {})}


def nobody_watches(links: Iterable[Any], kind: type) -> bool:
    """Whether a link may compute what its parts do by itself: no hook would see them, and all are of this class."""
    if thread.link or thread.function:
        return False
    return not any(link._local_link_hooks or type(link) is not kind for link in links)


class Hook:
    """Sees functions or links run: all of a thread inside `with hook:`, or one after its `add_hook(hook)`."""

    name: str

    @staticmethod
    def registry() -> OrderedDict[str, Any]:
        """The hooks of this kind in this thread."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        hooks = self.registry()
        if self.name in hooks:
            raise KeyError(f"hook {self.name} already exists")
        hooks[self.name] = self
        self.added(None)
        return self

    def __exit__(self, *args: Any) -> None:
        self.registry().pop(self.name).deleted(None)

    def added(self, watched: Any) -> None:
        """Called with the function or link at which the hook is registered (None for all)."""

    def deleted(self, watched: Any) -> None:
        """Called with the function or link from which the hook is removed (None for all)."""


class FunctionHook(Hook):
    """Sees functions run: all of a thread inside `with hook:`, or one function after `function.add_hook(hook)`."""

    name = "FunctionHook"

    registry = staticmethod(get_function_hooks)

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called before a function runs, with its input arrays."""

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called after a function has run, with its input arrays."""

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called before a function runs backwards, with its retained input arrays and the outputs' gradients."""

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called after a function has run backwards."""
