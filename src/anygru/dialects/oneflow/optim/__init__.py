"""Optimizers: torch's, under OneFlow's defaults, options and states."""

from . import lr_scheduler as lr_scheduler
from .optimizer import Optimizer as Optimizer
from .optimizers import SGD as SGD
from .optimizers import Adadelta as Adadelta
from .optimizers import Adagrad as Adagrad
from .optimizers import Adam as Adam
from .optimizers import AdamW as AdamW
from .optimizers import RMSprop as RMSprop
