"""The errors that the dialect raises in Paddle's name, told apart from those that torch raises inside an operator."""

from typing import TypeVar

Error = TypeVar("Error", bound=Exception)


class UnsettledError(ValueError, RuntimeError, IndexError):
    """A fault about a tensor in half precision or without elements.

    Paddle 2.6.2 says ValueError, RuntimeError or IndexError for it, by what the kernel at hand looks at first (recorded); whoever
    catches one of them catches this.
    """


class EnforceNotMet(Exception):
    """The error of Paddle's kernels for values, as opposed to shapes and dtypes, that they refuse."""


class NothingAssignedError(TypeError, AttributeError):
    """The error of `assign` for something that is no tensor, array or number."""


def paddles(error: Error) -> Error:
    """Mark an error as the dialect's own, so that `tensor.operation` passes it on as it is."""
    error.is_paddles = True  # type: ignore[attr-defined]
    return error


def no_kernel(message: str) -> RuntimeError:
    """The RuntimeError for an operation that Paddle does not have for a dtype."""
    return paddles(RuntimeError(message))


def no_tensor(message: str) -> ValueError:
    """The ValueError for something else than a tensor where an operation takes one."""
    error = paddles(ValueError(message))
    error.is_of_a_tensor = True  # type: ignore[attr-defined]
    return error


def divided_by_zero() -> EnforceNotMet:
    """The error of a division of integers by zero (2.6.2's words)."""
    return EnforceNotMet("Integer division by zero encountered in (floor) divide. Please check the input value.")
