"""`gluon.data`: datasets, samplers, loaders."""
# ruff: noqa: F401, F403 (names are gathered here to be taken from here)

from anygru.dialects import refuser

from . import batchify
from .dataloader import *
from .dataset import *
from .sampler import *

__getattr__ = refuser(
    "mxnet",
    "mxnet.gluon.data",
    {"vision": "torchvision.datasets", "RecordFileDataset": "torch.utils.data.Dataset"},
)
