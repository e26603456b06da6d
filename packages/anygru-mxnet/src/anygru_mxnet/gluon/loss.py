"""`gluon.loss`: losses per sample, [B]. A loss is the mean over all other axes, unless its docstring differs."""

import math
from types import ModuleType
from typing import Any

from .. import ndarray
from ..base import numeric_types
from ..ndarray.array import call
from ..operators.neural import PICKED_LOG_SOFTMAX
from ..symbol.nesting import Data
from .blocks.hybrid import HybridBlock

__all__ = [
    "CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss", "LogisticLoss",
    "Loss", "PoissonNLLLoss", "SDMLLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss", "SquaredHingeLoss", "TripletLoss",
]  # fmt: skip


def _apply_weighting(F: ModuleType, loss: Data, weight: float | None, sample_weight: Data | None) -> Any:
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        assert isinstance(weight, numeric_types), "weight must be a number"
        loss = loss * weight
    return loss


def _reshape_like(F: ModuleType, value: Any, other: Any) -> Any:
    return value.reshape(other.shape) if F is ndarray else F.reshape_like(value, other)


class Loss(HybridBlock):
    """The base class of losses.

    Args:
        weight: a factor on the loss, or None.
        batch_axis: the axis of the samples.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _mean(self, F: ModuleType, loss: Data, sample_weight: Data | None) -> Any:
        """The weighted loss per sample, [B]."""
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight), axis=self._batch_axis, exclude=True)


class L2Loss(Loss):
    """Half the squared difference."""

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        loss = F.square(_reshape_like(F, label, pred) - pred)
        loss = _apply_weighting(F, loss, self._weight / 2, sample_weight)  # type: ignore[operator]
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L1Loss(Loss):
    """The absolute difference."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        return self._mean(F, F.abs(_reshape_like(F, label, pred) - pred), sample_weight)


def _log_sigmoid_pair(F: ModuleType, pred: Data) -> Any:
    """log(1 + exp(-|x|)), a term of the sigmoid cross entropies."""
    return F.Activation(-F.abs(pred), act_type="softrelu")


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of independent yes/no labels; inputs are scores, or probabilities with `from_sigmoid`."""

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None, pos_weight: Data | None = None
    ) -> Any:
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            # The largest loss of a number is 27.63 (MXNet 1.9.1, observed), and 100 in torch.
            tiny = 1e-12
            positive = F.log(pred + tiny) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + tiny) * (1.0 - label))
        elif pos_weight is None:
            loss = F.relu(pred) - pred * label + _log_sigmoid_pair(F, pred)
        else:
            scale = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + scale * (_log_sigmoid_pair(F, pred) + F.relu(-pred))
        return self._mean(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of classes.

    Args:
        axis: the axis of the classes.
        sparse_label: whether labels are class numbers; otherwise they are distributions.
        from_logits: whether inputs are log probabilities.
        weight, batch_axis: as for `Loss`.
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        if self._sparse_label and not self._from_logits:
            loss = -_picked_log_softmax(F, pred, label, self._axis)
            return self._mean(F, loss, sample_weight)
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -(pred * _reshape_like(F, label, pred)).sum(axis=self._axis, keepdims=True)
        return self._mean(F, loss, sample_weight)


def _picked_log_softmax(F: ModuleType, pred: Any, label: Any, axis: int) -> Any:
    """The log probabilities of the labels. Files contain MXNet's two operators, which run as one kernel."""
    if F is ndarray:
        return call(PICKED_LOG_SOFTMAX, (pred, label), {"axis": axis})
    result = F.pick(F.log_softmax(pred, axis=axis), label, axis=axis, keepdims=True)
    fused = (PICKED_LOG_SOFTMAX, [pred._entries[0], label._entries[0]], {"axis": axis})
    result._entries[0][0].fused = fused
    return result


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """Kullback-Leibler divergence from log probabilities (or scores) to distributions, summed per sample."""

    def __init__(
        self, from_logits: bool = True, axis: int = -1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        # A label of 0 adds 0 to the loss, not the NaN of its logarithm (MXNet 1.9.1, `KLDivLoss`, source).
        loss = label * (F.log(label + 1e-12) - pred)
        return F.sum(_apply_weighting(F, loss, self._weight, sample_weight), axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification (Graves et al. 2006); the blank is the last class, -1 pads labels.

    Args:
        layout: "NTC" or "TNC", of the scores.
        label_layout: "NT" or "TN".
        weight: as for `Loss`.
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any
    ) -> None:
        assert layout in ("NTC", "TNC"), f"Only 'NTC' and 'TNC' layouts for pred are supported. Got: {layout}"
        assert label_layout in ("NT", "TN"), f"Only 'NT' and 'TN' layouts for label are supported. Got: {label_layout}"
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Data,
        label: Data,
        pred_lengths: Data | None = None,
        label_lengths: Data | None = None,
        sample_weight: Data | None = None,
    ) -> Any:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        loss = F.CTCLoss(
            pred,
            label,
            **{name: value for name, value in lengths.items() if value is not None},
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(Loss):
    """Quadratic up to `rho`, linear beyond."""

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        far = F.abs(_reshape_like(F, label, pred) - pred)
        loss = F.where(far > self._rho, far - 0.5 * self._rho, 0.5 / self._rho * F.square(far))
        return self._mean(F, loss, sample_weight)


class HingeLoss(Loss):
    """max(0, margin - prediction * label) for labels -1 and 1."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        return self._mean(F, F.relu(self._margin - pred * _reshape_like(F, label, pred)), sample_weight)


class SquaredHingeLoss(HingeLoss):
    """The square of the hinge loss."""

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        loss = F.square(F.relu(self._margin - pred * _reshape_like(F, label, pred)))
        return self._mean(F, loss, sample_weight)


class LogisticLoss(Loss):
    """Logistic loss of scores; labels are -1 and 1 ("signed") or 0 and 1 ("binary")."""

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format can only be signed or binary, recieved {label_format}.")
        self._label_format = label_format

    def hybrid_forward(self, F: ModuleType, pred: Data, label: Data, sample_weight: Data | None = None) -> Any:
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return self._mean(F, F.relu(pred) - pred * label + _log_sigmoid_pair(F, pred), sample_weight)


class TripletLoss(Loss):
    """max(0, margin + d), where d is the squared distance to the positive example minus the squared distance to the negative
    example."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: ModuleType, pred: Data, positive: Data, negative: Data) -> Any:
        near = F.square(_reshape_like(F, positive, pred) - pred)
        far = F.square(_reshape_like(F, negative, pred) - pred)
        loss = F.relu(F.sum(near - far, axis=self._batch_axis, exclude=True) + self._margin)
        return _apply_weighting(F, loss, self._weight, None)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts; one number for the whole batch."""

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: ModuleType, pred: Data, target: Data, sample_weight: Data | None = None, epsilon: float = 1e-8
    ) -> Any:
        """One number."""
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            # Stirling's approximation of log(target!), for targets above 1
            # For a target of 0 it is 0 times -inf, which is NaN, as in MXNet 1.9.1 (observed).
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            loss = loss + stirling * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cosine for label 1, the cosine above a margin for label -1."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: ModuleType, input1: Data, input2: Data, label: Data, sample_weight: Data | None = None
    ) -> Any:
        """[N, 1]."""
        input1 = _reshape_like(F, input1, input2)
        # The product of the norms is bounded. torch bounds each norm.
        lengths = F.norm(input1, axis=-1).reshape((-1, 1)) * F.norm(input2, axis=-1).reshape((-1, 1))
        cosine = F.sum(input1 * input2, axis=-1).reshape((-1, 1)) / F.maximum(lengths, 1e-12)
        label = label.reshape((-1, 1))
        loss = (1 - cosine) * (label == 1) + F.relu((label == -1) * (cosine - self._margin))
        return _apply_weighting(F, loss, self._weight, sample_weight)


class SDMLLoss(Loss):
    """Smoothed deep metric learning of paired batches (Bonadiman et al. 2019); not for hybridized use."""

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: ModuleType, x1: Any, x2: Any) -> Any:
        """The loss per pair, [B]."""
        count, features = x1.shape
        gold = F.eye(count)
        labels = gold * (1 - self.smoothing_parameter) + (1 - gold) * self.smoothing_parameter / (count - 1)
        one = x1.expand_dims(1).broadcast_to((count, count, features))
        other = x2.expand_dims(0).broadcast_to((count, count, features))
        scores = F.log_softmax(-((one - other) ** 2).sum(axis=2), axis=1)
        # The weight has no effect, as in MXNet 1.9.1 (observed).
        return self.kl_loss(scores, labels.as_in_context(scores.context))
