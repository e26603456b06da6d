"""Updaters."""

from .parallel_updater import *
from .standard_updater import *
