"""What is done to parameters and sequences."""

from anygru.dialects import refuser

from . import rnn as rnn
from .clip_grad import clip_grad_norm_ as clip_grad_norm_
from .clip_grad import clip_grad_value_ as clip_grad_value_

__getattr__ = refuser("oneflow", "oneflow.nn.utils")
