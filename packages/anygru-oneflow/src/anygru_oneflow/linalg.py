"""Norms and inverses: torch's, except for norms of whole numbers."""

import torch as _torch

from .framework.arguments import with_oneflows_names as _with_oneflows_names
from .framework.products import norm_of_floats as _norm_of_floats
from .framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.linalg", _torch.linalg, _torch))
norm, vector_norm, matrix_norm = map(
    _norm_of_floats, (_torch.linalg.norm, _torch.linalg.vector_norm, _torch.linalg.matrix_norm)
)
globals().update(_with_oneflows_names(globals()))
