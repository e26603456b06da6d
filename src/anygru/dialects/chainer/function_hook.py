"""Hooks that see functions run."""

from typing import Any

from . import _hooks


class FunctionHook:
    """Sees functions run: all of a thread inside `with hook:`, or one function after `function.add_hook(hook)`."""

    name = "FunctionHook"

    def __enter__(self) -> Any:
        hooks = _hooks.get_function_hooks()
        if self.name in hooks:
            raise KeyError(f"hook {self.name} already exists")
        hooks[self.name] = self
        self.added(None)
        return self

    def __exit__(self, *args: Any) -> None:
        _hooks.get_function_hooks().pop(self.name).deleted(None)

    def added(self, function: Any) -> None:
        """Called when the hook is registered (with None for all functions)."""

    def deleted(self, function: Any) -> None:
        """Called when the hook is removed (with None for all functions)."""

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called before a function runs, with its input arrays."""

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called after a function has run, with its input arrays."""

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called before a function runs backwards, with its retained input arrays and the outputs' gradients."""

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called after a function has run backwards."""
