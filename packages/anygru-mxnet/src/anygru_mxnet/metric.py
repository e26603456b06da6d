"""`mx.metric`: measures of a model's quality, accumulated over batches. The counterpart of `mxnet.metric` in MXNet 1.9."""
# ruff: noqa: F403 (this module re-exports names)

from . import ndarray as ndarray  # re-exported for programs, as in MXNet
from .metrics.base import *
from .metrics.classes import *
from .metrics.combined import *
from .metrics.numbers import *
