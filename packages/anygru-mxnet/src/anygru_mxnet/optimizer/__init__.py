"""`mx.optimizer`: update rules with MXNet's rescaling, clipping and weight decay."""

from . import contrib
from .optimizer import *
from .optimizer import Optimizer
from .optimizers import *
from .rare_optimizers import *
from .updater import *

opt_registry = Optimizer.opt_registry
