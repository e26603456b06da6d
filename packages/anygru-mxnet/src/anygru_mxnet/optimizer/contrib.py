"""`mx.optimizer.contrib`: AdaGrad with a rate for each row."""

from typing import Any

from torch import Tensor

from ..ndarray.ndarray import NDArray
from .optimizer import register
from .optimizers import Rule, blank

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Rule):
    """AdaGrad with a rate for each row of a matrix.

    Rows with a gradient of zero do not change, as with row_sparse gradients.

    Raises:
        AssertionError: for weights that do not have two axes, and for weight decay.
    """

    _in_single = False

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        """The sum of each row's mean square."""
        assert len(weight.shape) == 2, f"GroupAdaGrad: weights must have two axes, got {weight.shape}"
        return blank(weight[:, :1])

    def _change(self, weight: Tensor, gradient: Tensor, state: Any, lr: float, wd: float, count: int) -> None:
        assert wd == 0, "Weight decay is not supported for GroupAdaGrad"
        state.add_(gradient.square().mean(1, keepdim=True))
        weight.sub_(lr * gradient / (state + self.float_stable_eps).sqrt())
