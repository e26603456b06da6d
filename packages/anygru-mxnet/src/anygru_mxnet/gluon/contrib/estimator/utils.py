"""Checks of metrics for the estimator and its handlers."""

from typing import Any

from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import Loss, SoftmaxCrossEntropyLoss


def _check_metrics(metrics: Any) -> list[EvalMetric]:
    """A list of metrics from a metric, a list or a composite metric.

    Raises:
        ValueError: for other classes.
    """
    if isinstance(metrics, CompositeEvalMetric):
        return [part for metric in metrics.metrics for part in _check_metrics(metric)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    metrics = metrics or []
    if not all(isinstance(metric, EvalMetric) for metric in metrics):
        raise ValueError(f"metrics must be a Metric or a list of Metric, refer to mxnet.metric.EvalMetric: {metrics}")
    return metrics


def _check_handler_metric_ref(handler: Any, known_metrics: set[EvalMetric]) -> None:
    """Raise an error for a handler with a metric that does not belong to the estimator.

    Raises:
        ValueError: naming the handler and the metric.
    """
    # Monitors are not checked: MXNet 1.9.1 writes `'metric' or 'monitor'`, which is 'metric' (source).
    for attribute in dir(handler):
        found = getattr(handler, attribute) if "metric" in attribute else None
        for metric in found if isinstance(found, list) else [found] if found else []:
            if metric not in known_metrics:
                raise ValueError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the known "
                    "training and validation metrics. Please use the metrics from estimator.train_metrics and "
                    "estimator.val_metrics instead."
                )


def _suggest_metric_for_loss(loss: Loss) -> EvalMetric | None:
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
