"""`mx.gluon`: blocks, parameters, layers, losses, data and training."""

from . import block, contrib, data, loss, model_zoo, nn, parameter, rnn, trainer, utils
from .block import *
from .parameter import *
from .trainer import *
