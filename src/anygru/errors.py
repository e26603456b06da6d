"""What anygru raises. Each class is also the built-in that a caller would expect."""


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
