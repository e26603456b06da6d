"""Optimizers."""

from grus.dialects import refuser
from grus.dialects.chainer.optimizers.ada_delta import AdaDelta
from grus.dialects.chainer.optimizers.ada_grad import AdaGrad
from grus.dialects.chainer.optimizers.adam import AdaBound, Adam, AdamW, AMSBound, AMSGrad
from grus.dialects.chainer.optimizers.corrected_momentum_sgd import CorrectedMomentumSGD
from grus.dialects.chainer.optimizers.momentum_sgd import MomentumSGD
from grus.dialects.chainer.optimizers.nesterov_ag import NesterovAG
from grus.dialects.chainer.optimizers.rmsprop import RMSprop
from grus.dialects.chainer.optimizers.rmsprop_graves import RMSpropGraves
from grus.dialects.chainer.optimizers.sgd import SGD
from grus.dialects.chainer.optimizers.smorms3 import SMORMS3

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
__getattr__ = refuser("chainer", "chainer.optimizers")
