"""Limits for gradients: torch's functions."""

from torch.nn import utils as _torch

from ...framework.dressing import inside_torch

clip_grad_norm_ = inside_torch(_torch.clip_grad_norm_)
clip_grad_value_ = inside_torch(_torch.clip_grad_value_)
