"""Updaters."""

from ...training.updaters.parallel_updater import ParallelUpdater
from ...training.updaters.standard_updater import StandardUpdater

__all__ = ["ParallelUpdater", "StandardUpdater"]
