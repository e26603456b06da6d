"""Hooks that see functions run."""

from typing import Any

from . import _hooks


class FunctionHook(_hooks.Hook):
    """Sees functions run: all of a thread inside `with hook:`, or one function after `function.add_hook(hook)`."""

    name = "FunctionHook"

    registry = staticmethod(_hooks.get_function_hooks)

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called before a function runs, with its input arrays."""

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called after a function has run, with its input arrays."""

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called before a function runs backwards, with its retained input arrays and the outputs' gradients."""

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called after a function has run backwards."""
