"""Updaters."""

from .multiprocess_parallel_updater import *
from .parallel_updater import *
from .standard_updater import *
