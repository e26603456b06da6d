"""Imports, versions and deprecation."""

import functools
import importlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from ..version import full_version

__all__ = ["deprecated", "require_version", "run_check", "try_import"]

Called = TypeVar("Called", bound=Callable[..., Any])


def run_check() -> None:
    """Print that the dialect works."""
    print("PaddlePaddle is installed successfully! (This is anygru's Paddle dialect, on PyTorch.)")


def try_import(module_name: str, err_msg: str | None = None) -> ModuleType:
    """The module of this name.

    Raises:
        ImportError: with the package to install, if it is not there.
    """
    try:
        return importlib.import_module(module_name)
    except ImportError:
        message = (
            f"Failed importing {module_name}. This likely means that some paddle modules require additional "
            f"dependencies that have to be manually installed (usually with `pip install {module_name}`). "
        )
        raise ImportError(message if err_msg is None else err_msg) from None


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Check that the version of Paddle that the dialect follows is between two versions.

    Raises:
        Exception: if it does not.
    """

    def numbers(version: str) -> list[int]:
        return [int(part) for part in (version + ".0.0.0").split(".")[:4]]

    if numbers(full_version) < numbers(min_version):
        raise Exception(
            f"VersionError: PaddlePaddle version {min_version} or higher is required, but {full_version} installed, "
            f"please upgrade your PaddlePaddle to {min_version} or other higher version."
        )
    if max_version is not None and numbers(full_version) > numbers(max_version):
        raise Exception(
            f"VersionError: PaddlePaddle version in [{min_version}, {max_version}] required, but {full_version} installed."
        )


def deprecated(update_to: str = "", since: str = "", reason: str = "", level: int = 0) -> Callable[[Called], Called]:
    """A decorator for functions that warn, or with level 2 refuse, when they are called."""

    def decorate(function: Called) -> Called:
        message = f"API {function.__module__}.{function.__name__} is deprecated"
        message += (
            f" since {since}" * bool(since) + f", please use {update_to} instead" * bool(update_to) + f". {reason}"
        )

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if level == 2:
                raise RuntimeError(message)
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
