"""Optimizers."""

from .adam import *
from .rules import *
