"""Updaters: one update of the models at a time."""

from .multiprocess_parallel_updater import *
from .standard_updater import *
