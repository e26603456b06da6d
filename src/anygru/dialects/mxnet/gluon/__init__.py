"""`mx.gluon`: blocks, parameters, layers, losses, data and training."""
# ruff: noqa: F401 (names are gathered here to be taken from here)

from . import parameter, block, utils, loss, nn, rnn, data, trainer  # isort: skip (parameters before what has them)
from .block import Block, HybridBlock, SymbolBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .trainer import Trainer
