"""The errors that the dialect raises for Paddle, distinguished from errors that torch raises inside an operator."""

from typing import TypeVar

Error = TypeVar("Error", bound=Exception)


class UnsettledError(ValueError, RuntimeError, IndexError):
    """A fault about a tensor in half precision or without elements.

    Paddle 2.6.2 raises ValueError, RuntimeError or IndexError, depending on the kernel's first check (recorded); every
    handler of one of them catches this.
    """


class NoTensorError(ValueError, AttributeError):
    """The error for an argument that must be a tensor.

    Paddle 2.6.2 raises ValueError where a kernel gets the argument first, and AttributeError where Python asks it for its
    shape or dtype before (recorded); every handler of one of them catches this.
    """

    is_paddles = True


class EnforceNotMet(Exception):
    """The error of Paddle's kernels for values, as opposed to shapes and dtypes, that they refuse."""


class NothingAssignedError(TypeError, AttributeError):
    """The error of `assign` for a value that is not a tensor, array or number."""


def paddles(error: Error) -> Error:
    """Mark an error as raised by the dialect, so that `tensor.operation` passes it on unchanged."""
    error.is_paddles = True  # type: ignore[attr-defined]
    return error


def no_kernel(message: str) -> RuntimeError:
    """The RuntimeError for an operation that Paddle does not have for a dtype."""
    return paddles(RuntimeError(message))


def divided_by_zero() -> EnforceNotMet:
    """The error of a division of integers by zero (2.6.2's words)."""
    return EnforceNotMet("Integer division by zero encountered in (floor) divide. Please check the input value.")
