"""`paddle.metric`."""

from anygru.dialects import refuser

from .metrics import Accuracy as Accuracy
from .metrics import Auc as Auc
from .metrics import Metric as Metric
from .metrics import Precision as Precision
from .metrics import Recall as Recall
from .metrics import accuracy as accuracy

__getattr__ = refuser("paddle", "paddle.metric")
