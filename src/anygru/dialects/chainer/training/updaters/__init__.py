"""Updaters."""

from .parallel_updater import *  # noqa: F403
from .standard_updater import *  # noqa: F403
