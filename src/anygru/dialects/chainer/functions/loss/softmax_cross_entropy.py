"""Cross entropy of a softmax."""

from __future__ import annotations

from typing import Any

import torch

from ..._tensors import as_tensor
from ..._torch_function import TorchFunction
from ...configuration import config
from ...functions._checks import as_runtime_error, expect
from ...utils import type_check
from ...variable import Variable


def check_reduce(reduce: str, allowed: tuple[str, ...] = ("mean", "no")) -> None:
    """Raise ValueError unless `reduce` is one of the allowed names."""
    if reduce not in allowed:
        names = " and ".join(repr(name) for name in allowed)
        raise ValueError(f"only {names} are valid for 'reduce', but '{reduce}' is given")


def _check_class_weight(class_weight: Any) -> None:
    if class_weight is None:
        return
    if class_weight.ndim != 1:
        raise ValueError(f"class_weight.ndim should be 1, got {class_weight.ndim}")
    if class_weight.dtype.kind != "f":
        raise ValueError(f"The dtype of class_weight should be 'f', got {class_weight.dtype}")
    if isinstance(class_weight, Variable):
        raise ValueError("class_weight should be a numpy.ndarray or cupy.ndarray, not a chainer.Variable")


class SoftmaxCrossEntropy(TorchFunction):
    def __init__(
        self,
        normalize: bool = True,
        cache_score: bool = True,
        class_weight: Any = None,
        ignore_label: int = -1,
        reduce: str = "mean",
        soft_target_loss: str = "cross-entropy",
    ) -> None:
        _check_class_weight(class_weight)
        check_reduce(reduce)
        self.normalize = normalize
        self.cache_score = cache_score
        self.class_weight = class_weight
        self.ignore_label = ignore_label
        self.reduce = reduce
        self.soft_target_loss = soft_target_loss

    def check_type_forward(self, in_types: Any) -> None:
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        with as_runtime_error():
            if type_check.eval(t.dtype.kind) == "i":
                expect(x.dtype.kind == "f", t.dtype.kind == "i", t.ndim == x.ndim - 1)
                expect(x.shape[0] == t.shape[0], x.shape[2:] == t.shape[1:])
            else:
                expect(x.dtype.kind == "f", t.dtype.kind == "f", x.shape == t.shape)

    def compute(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        log_p = torch.log_softmax(x.float() if x.dtype is torch.float16 else x, 1)
        if t.is_floating_point():
            return self._soft(x, t, log_p)
        counted = t != self.ignore_label
        labels = self._labels(t, counted, x.shape[1])
        loss = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1) * counted
        if self.class_weight is not None:
            if len(self.class_weight) != x.shape[1]:
                raise ValueError(
                    f"class_weight must be [{x.shape[1]}], one for each class, got {self.class_weight.shape}"
                )
            loss = loss * as_tensor(self.class_weight).to(loss)[labels]
        if self.reduce == "no":
            return loss.to(x.dtype)
        count = counted.sum() if self.normalize else torch.tensor(len(x), device=x.device)
        return (loss.sum() / count.clamp(min=1)).to(x.dtype)

    def _labels(self, t: torch.Tensor, counted: torch.Tensor, n_classes: int) -> torch.Tensor:
        labels = torch.where(counted, t, 0).long()
        outside = (labels >= n_classes) | (labels < (0 if config.debug else -n_classes))
        if bool(outside.any()):
            kind = ValueError if config.debug else IndexError
            raise kind(
                f"Each label `t` need to satisfy `0 <= t < x.shape[1] = {n_classes} or t == {self.ignore_label}`, "
                f"got {int(labels[outside][0])}"
            )
        return torch.where(labels < 0, labels + n_classes, labels)

    def _soft(self, x: torch.Tensor, t: torch.Tensor, log_p: torch.Tensor) -> torch.Tensor:
        loss = -(t * log_p).sum(1)
        if self.soft_target_loss == "kl-divergence":
            loss = loss + (t * torch.log(t + 1e-7)).sum(1)
        return (loss if self.reduce == "no" else loss.mean()).to(x.dtype)


def softmax_cross_entropy(
    x: Any,
    t: Any,
    normalize: bool = True,
    cache_score: bool = True,
    class_weight: Any = None,
    ignore_label: int = -1,
    reduce: str = "mean",
    enable_double_backprop: bool = False,
    soft_target_loss: str = "cross-entropy",
) -> Variable:
    """Cross entropy of the softmax of x [B, N, ...] against int labels t [B, ...] or soft targets t [B, N, ...].

    Args:
        normalize: divide by the number of labels that count; False: by B.
        cache_score: has no effect here (it trades memory for speed in the original).
        class_weight: array [N] of weights for the classes.
        ignore_label: labels of this value do not count.
        reduce: "mean", or "no" for one loss a label.
        enable_double_backprop: has no effect here: the loss can always be differentiated twice.
        soft_target_loss: "cross-entropy" or "kl-divergence", for soft targets.

    Raises:
        InvalidType: shapes or dtypes do not fit. IndexError: a label is not below N.
        ValueError: another value of `reduce` or `soft_target_loss`, a `class_weight` that is no array [N] of floats.
    """
    if soft_target_loss not in ("cross-entropy", "kl-divergence"):
        raise ValueError(f"soft_target_loss must be 'cross-entropy' or 'kl-divergence'. Actual: {soft_target_loss!r}")
    function = SoftmaxCrossEntropy(normalize, cache_score, class_weight, ignore_label, reduce, soft_target_loss)
    return function.apply((x, t))[0]
