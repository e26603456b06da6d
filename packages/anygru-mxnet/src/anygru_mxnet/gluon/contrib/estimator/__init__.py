"""`gluon.contrib.estimator`: a training loop with handlers of its events."""

from . import batch_processor, estimator, event_handler
from .batch_processor import *
from .estimator import *
from .event_handler import *
