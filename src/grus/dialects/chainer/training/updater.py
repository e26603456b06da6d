"""The former place of `chainer.training.updaters`."""

from grus.dialects.chainer.training._updater import Updater
from grus.dialects.chainer.training.updaters import ParallelUpdater, StandardUpdater

__all__ = ["ParallelUpdater", "StandardUpdater", "Updater"]
