"""`paddle.hapi`: the training loop that `paddle.Model` offers."""

from . import callbacks as callbacks
from .dynamic_flops import *
from .model import *
from .model_summary import *
