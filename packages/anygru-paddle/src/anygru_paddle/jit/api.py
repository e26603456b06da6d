"""`to_static` and similar decorators. The dialect computes eagerly, so they do not change a function's results."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeVar, overload

__all__ = ["enable_to_static", "ignore_module", "not_to_static", "set_code_level", "set_verbosity", "to_static"]

Called = TypeVar("Called", bound=Callable[..., Any])


@overload
def to_static(function: Called) -> Called: ...


@overload
def to_static(
    function: None = None, input_spec: Any = None, build_strategy: Any = None, backend: str | None = None, **kwargs: Any
) -> Callable[[Called], Called]: ...


def to_static(
    function: Any = None, input_spec: Any = None, build_strategy: Any = None, backend: str | None = None, **kwargs: Any
) -> Any:
    """The function or layer itself, or (without one) a decorator that gives it back.

    Args:
        function: the function that Paddle would turn into a static graph.
        input_spec, build_strategy, backend: how it would; taken and not used.
        kwargs: `full_graph` and `property`, taken and not used.
    """
    return (lambda decorated: decorated) if function is None else function


def not_to_static(func: Called | None = None) -> Any:
    """The function itself."""
    return not_to_static if func is None else func


def ignore_module(modules: Sequence[ModuleType]) -> None:
    """Nothing: no function is compiled."""


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Nothing: no function is compiled.

    Raises:
        AssertionError: for an argument that is no bool.
    """
    if not isinstance(enable_to_static_bool, bool):
        raise AssertionError(
            "When enable_to_static is True, it means that dynamic to static is enabled; it must be a bool, got "
            f"{type(enable_to_static_bool).__name__}"
        )


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Nothing: no code is generated."""


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Nothing: no code is generated."""
