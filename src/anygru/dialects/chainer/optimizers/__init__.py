"""Optimizers."""

from ..optimizers.ada_delta import AdaDelta
from ..optimizers.ada_grad import AdaGrad
from ..optimizers.adam import AdaBound, Adam, AdamW, AMSBound, AMSGrad
from ..optimizers.corrected_momentum_sgd import CorrectedMomentumSGD
from ..optimizers.momentum_sgd import MomentumSGD
from ..optimizers.nesterov_ag import NesterovAG
from ..optimizers.rmsprop import RMSprop
from ..optimizers.rmsprop_graves import RMSpropGraves
from ..optimizers.sgd import SGD
from ..optimizers.smorms3 import SMORMS3

__all__ = [
    "SGD",
    "SMORMS3",
    "AMSBound",
    "AMSGrad",
    "AdaBound",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "CorrectedMomentumSGD",
    "MomentumSGD",
    "NesterovAG",
    "RMSprop",
    "RMSpropGraves",
]
