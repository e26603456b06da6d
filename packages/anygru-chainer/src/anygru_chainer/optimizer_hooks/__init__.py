"""Hooks that change gradients before an update."""

from .hooks import *
