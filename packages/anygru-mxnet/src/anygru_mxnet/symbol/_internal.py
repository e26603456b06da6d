"""The operators on symbols with names that begin with an underscore, in programs `F._internal`."""

from .register import FUNCTIONS

globals().update({name: function for name, function in FUNCTIONS.items() if name.startswith("_")})
