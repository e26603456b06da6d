"""Learning rates over time."""

from .combined import *
from .formulas import *
from .formulas import LRScheduler as _LRScheduler
from .plateau import ReduceLROnPlateau
