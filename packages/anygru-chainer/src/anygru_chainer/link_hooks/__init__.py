"""Hooks that see links being called."""

from .timer import *
from .weights import *
