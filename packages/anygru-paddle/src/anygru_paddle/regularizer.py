"""Weight decay by the optimizer: L1Decay and L2Decay."""

import torch


class WeightDecayRegularizer:
    """A term added to a parameter's gradient."""

    _coeff: float

    def gradient(self, parameter: torch.Tensor) -> torch.Tensor:
        """The term for `parameter`."""
        raise NotImplementedError


class L1Decay(WeightDecayRegularizer):
    """coeff * sum(|parameter|) added to the loss: coeff * sign(parameter) to the gradient."""

    def __init__(self, coeff: float = 0.0) -> None:
        self._coeff = self._regularization_coeff = float(coeff)

    def gradient(self, parameter: torch.Tensor) -> torch.Tensor:
        """coeff * sign(parameter)."""
        return torch.mul(torch.sign(parameter), self._coeff)

    def __str__(self) -> str:
        return f"L1Decay, coeff={self._coeff:f}"


class L2Decay(WeightDecayRegularizer):
    """coeff / 2 * sum(parameter ** 2) added to the loss: coeff * parameter to the gradient."""

    def __init__(self, coeff: float = 0.0) -> None:
        self._coeff = self._regularization_coeff = float(coeff)

    def gradient(self, parameter: torch.Tensor) -> torch.Tensor:
        """coeff * parameter."""
        return torch.mul(parameter, self._coeff)

    def __str__(self) -> str:
        return f"L2Decay, coeff={self._coeff:f}"
