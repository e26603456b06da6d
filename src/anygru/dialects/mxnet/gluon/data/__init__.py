"""`gluon.data`: datasets, samplers, loaders."""

from . import batchify
from .dataloader import *
from .dataset import *
from .sampler import *
