"""`mx.metric`: measures of a model's quality, accumulated over batches. Of MXNet 1.9's `mxnet.metric`."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from . import ndarray as ndarray  # programs take it from here, as from MXNet's
from .metrics.base import *
from .metrics.classes import *
from .metrics.combined import *
from .metrics.numbers import *
