"""The base classes of hooks on functions and links, and the hooks of the current thread."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from ._link import Link


class _Thread(threading.local):
    """The hooks of a thread."""

    def __init__(self) -> None:
        self.function: OrderedDict[str, Any] = OrderedDict()
        self.link: OrderedDict[str, Any] = OrderedDict()


thread = _Thread()


def get_function_hooks() -> OrderedDict[str, Any]:
    """The hooks on all functions of this thread, by name."""
    return thread.function


def get_link_hooks() -> OrderedDict[str, Any]:
    """The hooks on all links of this thread, by name."""
    return thread.link


def of_function(function: Any) -> list[Any]:
    """All hooks on a function: the thread's, then its own."""
    return list({**thread.function, **(function._local_function_hooks or {})}.values())


def of_link(link: Any) -> dict[str, Any]:
    """All hooks on a link, by name: the thread's, then its own."""
    return {**thread.link, **(link._local_link_hooks or {})}


def may_join(links: Iterable[Any], kind: type, dtype: Any) -> bool:
    """Whether one function may replace the calls of some links: no hook observes them, and all are of this class and dtype."""
    if thread.link or thread.function:
        return False
    for link in links:
        w = link.W._data[0]
        if link._local_link_hooks or type(link) is not kind or not (w is None or w.dtype == dtype):
            return False
    return True


class Hook:
    """Observes functions or links: all of a thread inside `with hook:`, or one after its `add_hook(hook)`."""

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
    """Observes functions: all of a thread inside `with hook:`, or one function after `function.add_hook(hook)`."""

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


class _ForwardPreprocessCallbackArgs:
    """The argument of a hook before a link runs."""

    def __init__(self, link: "Link | None", forward_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.link = link
        self.forward_name = forward_name
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        content = " ".join(f"{name}={value}" for name, value in self.__dict__.items())
        return f"<{type(self).__module__}.{type(self).__qualname__} {content}>"


class _ForwardPostprocessCallbackArgs(_ForwardPreprocessCallbackArgs):
    """The argument of a hook after a link has run."""

    def __init__(
        self, link: "Link | None", forward_name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: TextIO
    ) -> None:
        super().__init__(link, forward_name, args, kwargs)
        self.out = out


class LinkHook(Hook):
    """Observes calls of links: all of a thread inside `with hook:`, or one link after `link.add_hook(hook)`."""

    name = "LinkHook"

    registry = staticmethod(get_link_hooks)

    def forward_preprocess(self, args: Any) -> None:
        """Called before a link runs; `args` has link, forward_name, args and kwargs."""

    def forward_postprocess(self, args: Any) -> None:
        """Called after a link has run; `args` has link, forward_name, args, kwargs and out."""
