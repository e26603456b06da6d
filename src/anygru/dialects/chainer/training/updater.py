"""The former place of `chainer.training.updaters`."""

from ..training._updater import Updater
from ..training.updaters import ParallelUpdater, StandardUpdater

__all__ = ["ParallelUpdater", "StandardUpdater", "Updater"]
