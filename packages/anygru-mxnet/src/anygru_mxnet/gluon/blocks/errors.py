"""The error for parameters of unknown shape."""

from ...base import MXNetError


class DeferredInitializationError(MXNetError):
    """The shape of a parameter is not known yet, so that it has no values."""
