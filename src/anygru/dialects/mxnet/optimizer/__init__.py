"""`mx.optimizer`: update rules under MXNet's rescaling, clipping and weight decay."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .optimizer import *
from .optimizer import Optimizer
from .rules import *
from .updater import *

opt_registry = Optimizer.opt_registry
