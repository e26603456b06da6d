"""Hooks that see links being called."""

from typing import TYPE_CHECKING, Any, TextIO

from . import function_hook

if TYPE_CHECKING:
    from ._link import Link


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


class LinkHook(function_hook.Hook):
    """Sees links being called: all of a thread inside `with hook:`, or one link after `link.add_hook(hook)`."""

    name = "LinkHook"

    registry = staticmethod(function_hook.get_link_hooks)

    def forward_preprocess(self, args: Any) -> None:
        """Called before a link runs; `args` has link, forward_name, args and kwargs."""

    def forward_postprocess(self, args: Any) -> None:
        """Called after a link has run; `args` has link, forward_name, args, kwargs and out."""
