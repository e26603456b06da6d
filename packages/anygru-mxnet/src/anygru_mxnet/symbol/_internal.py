"""The operators on symbols with names that begin with an underscore; user code meets them as `F._internal`."""

from .register import FUNCTIONS

globals().update({name: function for name, function in FUNCTIONS.items() if name.startswith("_")})
