"""Updaters."""

from grus.dialects import refuser
from grus.dialects.chainer.training.updaters.parallel_updater import ParallelUpdater
from grus.dialects.chainer.training.updaters.standard_updater import StandardUpdater

__all__ = ["ParallelUpdater", "StandardUpdater"]
__getattr__ = refuser(
    "chainer",
    "chainer.training.updaters",
    {"MultiprocessParallelUpdater": "torch.nn.parallel.DistributedDataParallel, or chainermn with grus launch"},
)
