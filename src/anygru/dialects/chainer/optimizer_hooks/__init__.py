"""What optimizers do to gradients before an update."""

from ..optimizer_hooks.gradient_clipping import GradientClipping
from ..optimizer_hooks.gradient_hard_clipping import GradientHardClipping
from ..optimizer_hooks.gradient_lars import GradientLARS
from ..optimizer_hooks.gradient_noise import GradientNoise
from ..optimizer_hooks.lasso import Lasso
from ..optimizer_hooks.weight_decay import WeightDecay

__all__ = ["GradientClipping", "GradientHardClipping", "GradientLARS", "GradientNoise", "Lasso", "WeightDecay"]
