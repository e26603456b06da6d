"""`paddle.incubate.optimizer`."""

from .lookahead import *
from .modelaverage import *
