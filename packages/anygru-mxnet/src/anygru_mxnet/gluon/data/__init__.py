"""`gluon.data`: datasets, samplers, loaders."""

from . import batchify, vision
from .dataloader import *
from .dataset import *
from .sampler import *
