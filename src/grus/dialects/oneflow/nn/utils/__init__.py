"""What is done to parameters and sequences."""

from grus.dialects import refuser
from grus.dialects.oneflow.nn.utils import rnn as rnn
from grus.dialects.oneflow.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from grus.dialects.oneflow.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_

__getattr__ = refuser("oneflow", "oneflow.nn.utils")
