"""The error for parameters whose shapes are not known yet."""

from ...base import MXNetError


class DeferredInitializationError(MXNetError):
    """A parameter's values were asked for before its shape is known."""
