"""`mx.optimizer`: update rules under MXNet's rescaling, clipping and weight decay."""

from .more_rules import *
from .optimizer import *
from .optimizer import Optimizer
from .rules import *
from .updater import *

opt_registry = Optimizer.opt_registry
