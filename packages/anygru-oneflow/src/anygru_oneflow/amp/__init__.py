"""Mixed precision."""

from .autocast_mode import autocast, autocast_decorator
from .grad_scaler import *
