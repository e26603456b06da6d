"""The operators on symbols: `mx.sym.op.relu` is `mx.sym.relu`."""

from .register import PUBLIC

globals().update(PUBLIC)
__all__ = list(PUBLIC)
