"""`paddle.hapi`: the training loop that `paddle.Model` offers."""

from . import callbacks as callbacks
from .model import *
from .model_summary import *
