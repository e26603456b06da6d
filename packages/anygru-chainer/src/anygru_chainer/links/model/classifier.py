"""A classifier around a predictor."""

from collections.abc import Callable
from typing import Any

from ... import reporter
from ...functions.evaluations import accuracy
from ...functions.losses import softmax_cross_entropy
from ...link import Chain
from ...variable import Variable

__all__ = ["Classifier"]


class Classifier(Chain):
    """Computes a predictor's loss and accuracy, reports them, and keeps them as `y`, `loss` and `accuracy`.

    Args:
        predictor: the link that predicts.
        lossfun: loss of (prediction, labels).
        accfun: accuracy of (prediction, labels).
        label_key: which argument of a call is the labels: an int for a place, a text for a keyword (else TypeError).
    """

    compute_accuracy = True

    def __init__(
        self,
        predictor: Callable[..., Any],
        lossfun: Callable[..., Variable] = softmax_cross_entropy,
        accfun: Callable[..., Variable] = accuracy,
        label_key: int | str = -1,
    ) -> None:
        if not isinstance(label_key, (int, str)):
            raise TypeError(f"label_key must be int or str, but is {type(label_key)}")
        super().__init__()
        self.lossfun = lossfun
        self.accfun = accfun
        self.label_key = label_key
        self.y: Any = None
        self.loss: Any = None
        self.accuracy: Any = None
        with self.init_scope():
            self.predictor = predictor

    def forward(self, *args: Any, **kwargs: Any) -> Variable:
        """The loss; the arguments but the labels go to the predictor (ValueError if the labels are absent)."""
        if isinstance(self.label_key, int):
            if not -len(args) <= self.label_key < len(args):
                raise ValueError(f"Label key {self.label_key} is out of bounds")
            place = self.label_key % len(args)
            t, args = args[place], args[:place] + args[place + 1 :]
        else:
            if self.label_key not in kwargs:
                raise ValueError(f'Label key "{self.label_key}" is not found')
            t = kwargs.pop(self.label_key)
        self.y = self.loss = self.accuracy = None
        self.y = self.predictor(*args, **kwargs)
        self.loss = self.lossfun(self.y, t)
        reporter.report({"loss": self.loss}, self)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
            reporter.report({"accuracy": self.accuracy}, self)
        return self.loss
