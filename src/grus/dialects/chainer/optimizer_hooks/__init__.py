"""What optimizers do to gradients before an update."""

from grus.dialects.chainer.optimizer_hooks.gradient_clipping import GradientClipping
from grus.dialects.chainer.optimizer_hooks.gradient_hard_clipping import GradientHardClipping
from grus.dialects.chainer.optimizer_hooks.gradient_lars import GradientLARS
from grus.dialects.chainer.optimizer_hooks.gradient_noise import GradientNoise
from grus.dialects.chainer.optimizer_hooks.lasso import Lasso
from grus.dialects.chainer.optimizer_hooks.weight_decay import WeightDecay

__all__ = ["GradientClipping", "GradientHardClipping", "GradientLARS", "GradientNoise", "Lasso", "WeightDecay"]
