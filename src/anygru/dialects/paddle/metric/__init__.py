"""`paddle.metric`."""

from .metrics import Accuracy as Accuracy
from .metrics import Auc as Auc
from .metrics import Metric as Metric
from .metrics import Precision as Precision
from .metrics import Recall as Recall
from .metrics import accuracy as accuracy
