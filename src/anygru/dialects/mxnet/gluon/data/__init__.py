"""`gluon.data`: datasets, samplers, loaders."""
# ruff: noqa: F401, F403 (names are gathered here to be taken from here)

from . import batchify
from .dataloader import *
from .dataset import *
from .sampler import *
