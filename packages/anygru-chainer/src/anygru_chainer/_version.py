"""The release of the original whose names and behaviour are offered."""

__version__ = "7.8.1"
