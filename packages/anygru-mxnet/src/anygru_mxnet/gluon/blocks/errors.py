"""The error for parameters of unknown shape."""

from ...base import MXNetError


class DeferredInitializationError(MXNetError):
    """A parameter's values were asked for before its shape is known."""
