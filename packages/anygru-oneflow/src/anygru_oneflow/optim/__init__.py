"""Optimizers: torch's, under OneFlow's defaults, options and states."""

from . import lr_scheduler
from .optimizer import Optimizer
from .optimizers import *
