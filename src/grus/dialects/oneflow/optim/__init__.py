"""Optimizers: torch's, under OneFlow's defaults, options and states."""

from grus.dialects import refuser
from grus.dialects.oneflow.optim import lr_scheduler as lr_scheduler
from grus.dialects.oneflow.optim.optimizer import Optimizer as Optimizer
from grus.dialects.oneflow.optim.optimizers import SGD as SGD
from grus.dialects.oneflow.optim.optimizers import Adadelta as Adadelta
from grus.dialects.oneflow.optim.optimizers import Adagrad as Adagrad
from grus.dialects.oneflow.optim.optimizers import Adam as Adam
from grus.dialects.oneflow.optim.optimizers import AdamW as AdamW
from grus.dialects.oneflow.optim.optimizers import RMSprop as RMSprop

__getattr__ = refuser("oneflow", "oneflow.optim")
