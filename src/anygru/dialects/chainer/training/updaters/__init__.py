"""Updaters."""

from anygru.dialects import refuser

from ...training.updaters.parallel_updater import ParallelUpdater
from ...training.updaters.standard_updater import StandardUpdater

__all__ = ["ParallelUpdater", "StandardUpdater"]
__getattr__ = refuser(
    "chainer",
    "chainer.training.updaters",
    {"MultiprocessParallelUpdater": "torch.nn.parallel.DistributedDataParallel, or chainermn with anygru launch"},
)
