"""`mx.nd.linalg`: linear algebra on arrays."""

from .register import FUNCTIONS

_STEM = "_linalg_"
globals().update({name[len(_STEM) :]: function for name, function in FUNCTIONS.items() if name.startswith(_STEM)})
