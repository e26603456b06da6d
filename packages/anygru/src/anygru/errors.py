"""The exceptions of anygru. Each class is also the built-in that a caller would expect."""


class AnygruError(Exception):
    """The root of every error that anygru raises itself."""


class ArgumentError(AnygruError, ValueError):
    """An argument has a value, shape or combination that cannot be honoured."""


class ArgumentTypeError(AnygruError, TypeError):
    """An argument is of a type or dtype that cannot be honoured."""


class BackendError(AnygruError, RuntimeError):
    """A backend that was asked for by name cannot take the problem; the message says why."""


class CheckpointError(AnygruError, ValueError):
    """A checkpoint is damaged, hostile, or cannot be expressed; the message names file, place and cause."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    """Escape unprintable letters, so that a name in a file cannot send control codes to the terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
