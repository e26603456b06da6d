"""`mx.metric`: measures of a model's quality, accumulated over batches. Follows MXNet 1.9's `mxnet.metric`."""
# ruff: noqa: F403 (this module re-exports names)

from . import ndarray as ndarray  # re-exported for programs, as in MXNet
from .metrics.base import *
from .metrics.classes import *
from .metrics.combined import *
from .metrics.numbers import *
