"""`mx.sym.npx`: MXNet's operators on symbols, under the names of `mx.npx`."""

from ..numpy_extension.operators import OPERATORS_OF
from ..operators import OPERATORS
from .register import function_of

globals().update({name: function_of(OPERATORS[known], name) for name, known in OPERATORS_OF.items()})

__all__ = list(OPERATORS_OF)
