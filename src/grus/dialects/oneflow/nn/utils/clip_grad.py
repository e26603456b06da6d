"""Limits for gradients."""

from torch.nn.utils import clip_grad_norm_ as clip_grad_norm_
from torch.nn.utils import clip_grad_value_ as clip_grad_value_
