"""Mixed precision on GPUs."""

from .autocast_mode import autocast as autocast
