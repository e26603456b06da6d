"""What grus raises. Each class is also the built-in that a caller would expect."""


class GrusError(Exception):
    """The root of every error that grus raises itself."""


class ArgumentError(GrusError, ValueError):
    """An argument has a value, shape or combination that cannot be honoured."""


class ArgumentTypeError(GrusError, TypeError):
    """An argument is of a type or dtype that cannot be honoured."""


class BackendError(GrusError, RuntimeError):
    """A backend that was asked for by name cannot take the problem; the message says why."""


class CheckpointError(GrusError, ValueError):
    """A checkpoint is damaged, hostile, or cannot be expressed; the message names file, place and cause."""
