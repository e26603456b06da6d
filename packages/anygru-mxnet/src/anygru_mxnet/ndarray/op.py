"""The operators on arrays: `mx.nd.op.relu` is `mx.nd.relu`."""

from .register import PUBLIC

globals().update(PUBLIC)
__all__ = list(PUBLIC)
