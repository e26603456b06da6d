"""`paddle.optimizer`."""

from . import lr as lr
from .optimizer import Optimizer as Optimizer
from .optimizers import *
