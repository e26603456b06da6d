"""Metrics for regression, and means of losses."""

from typing import Any

import numpy as np

from ..ndarray.ndarray import NDArray
from .base import Arrays, GlobalMetric, Labels, alias, check_label_shapes, register

__all__ = ["MAE", "MSE", "RMSE", "Loss", "PearsonCorrelation"]


class _MeanOfBatches(GlobalMetric):
    """Metrics that average a number over batches."""

    def _number(self, difference: np.ndarray) -> Any:
        raise NotImplementedError

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            # Between the shapes (n,) and (n, 1) the difference would have n x n elements.
            wanted, found = (a.reshape(-1, 1) if a.ndim == 1 else a for a in (label.asnumpy(), pred.asnumpy()))
            # Each batch counts as one, including a shorter last batch (MXNet 1.9.1, observed).
            self._add(self._number(wanted - found), 1)


@register
class MAE(_MeanOfBatches):
    """The mean absolute error."""

    def __init__(self, name: str = "mae", output_names: Labels = None, label_names: Labels = None) -> None:
        super().__init__(name, output_names, label_names)

    def _number(self, difference: np.ndarray) -> Any:
        return np.abs(difference).mean()


@register
class MSE(_MeanOfBatches):
    """The mean squared error."""

    def __init__(self, name: str = "mse", output_names: Labels = None, label_names: Labels = None) -> None:
        super().__init__(name, output_names, label_names)

    def _number(self, difference: np.ndarray) -> Any:
        return (difference**2.0).mean()


@register
class RMSE(_MeanOfBatches):
    """The root of the mean squared error of each batch."""

    def __init__(self, name: str = "rmse", output_names: Labels = None, label_names: Labels = None) -> None:
        super().__init__(name, output_names, label_names)

    def _number(self, difference: np.ndarray) -> Any:
        return np.sqrt((difference**2.0).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(GlobalMetric):
    """Pearson's correlation: "macro" the mean over batches, "micro" over all samples together."""

    def __init__(
        self, name: str = "pearsonr", output_names: Labels = None, label_names: Labels = None, average: str = "macro"
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset(self) -> None:
        super().reset()
        self._seen: list[tuple[np.ndarray, np.ndarray]] = []

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            check_label_shapes(label, pred, False, True)
            wanted, found = (a.asnumpy().ravel().astype(np.float64) for a in (label, pred))
            if self.average == "macro":
                self._add(np.corrcoef(found, wanted)[0, 1], 1)
            else:
                self._seen.append((wanted, found))
                self._add(0.0, 1)

    def get(self) -> tuple[Any, Any]:
        """Name and value."""
        if self.average == "macro" or not self._seen:
            return super().get()
        wanted, found = (np.concatenate(part) for part in zip(*self._seen, strict=True))
        return self.name, np.corrcoef(found, wanted)[0, 1]


@register
class Loss(GlobalMetric):
    """The mean of the predictions, which are losses."""

    def __init__(self, name: str = "loss", output_names: Labels = None, label_names: Labels = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, _: Any, preds: Arrays) -> None:
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            values = pred.asnumpy()
            self._add(values.sum(dtype="float64").astype(values.dtype), values.size)
