"""`paddle.fluid.regularizer`: weight decay, its coefficient spelled in full."""

from ..regularizer import L1Decay as _L1Decay
from ..regularizer import L2Decay as _L2Decay


class L1Decay(_L1Decay):
    """regularization_coeff * sum(|parameter|) added to the loss."""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        super().__init__(regularization_coeff)


class L2Decay(_L2Decay):
    """regularization_coeff / 2 * sum(parameter ** 2) added to the loss."""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        super().__init__(regularization_coeff)


L1DecayRegularizer, L2DecayRegularizer = L1Decay, L2Decay
