"""Initializers: objects that fill an array with its first values."""

from .fillers import *
from .sampling import *
