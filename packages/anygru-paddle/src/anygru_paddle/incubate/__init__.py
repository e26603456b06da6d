"""`paddle.incubate`: optimizers that change or average the parameters of others."""

from . import optimizer as optimizer
from .optimizer import *
