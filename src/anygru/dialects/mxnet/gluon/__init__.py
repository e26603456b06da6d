"""`mx.gluon`: blocks, parameters, layers, losses, data and training."""
# ruff: noqa: F401, F403 (names are gathered here to be taken from here)

from . import block, data, loss, nn, parameter, rnn, trainer, utils
from .block import *
from .parameter import *
from .trainer import *
