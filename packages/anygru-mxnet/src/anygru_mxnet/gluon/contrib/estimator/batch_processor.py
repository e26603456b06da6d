"""One batch of training, and one of validation."""

from typing import TYPE_CHECKING, Any

from .... import autograd
from ....context import Context
from ....ndarray.ndarray import NDArray
from ...utils import split_and_load

if TYPE_CHECKING:
    from .estimator import Estimator

__all__ = ["BatchProcessor"]

Batch = tuple[list[NDArray], list[NDArray], list[NDArray], list[NDArray]]


class BatchProcessor:
    """Computes a batch. A subclass may override this."""

    def _get_data_and_label(self, batch: Any, ctx: list[Context], batch_axis: int = 0) -> tuple[list, list]:
        data, label = (split_and_load(part, ctx_list=ctx, batch_axis=batch_axis) for part in (batch[0], batch[1]))
        return data, label

    def evaluate_batch(self, estimator: "Estimator", val_batch: Any, batch_axis: int = 0) -> Batch:
        """Data, labels, predictions and losses of a batch, lists with one part for each context."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]

    def fit_batch(self, estimator: "Estimator", train_batch: Any, batch_axis: int = 0) -> Batch:
        """Data, labels, predictions and losses of a training batch. The gradients are stored in the parameters."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        for part in loss:
            part.backward()
        return data, label, pred, loss
