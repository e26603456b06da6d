"""Layers as functions: torch's, and the functions in which OneFlow differs."""

import torch

from ...framework.arguments import with_oneflows_names as _with_oneflows_names
from ...framework.differing import log_softmax, pad, softmax
from ...framework.indexing import quick_gelu
from ...framework.torch_names import torch_names as _torch_names
from .functions import *

globals().update({**_torch_names("oneflow.nn.functional", torch.nn.functional), **globals()})
globals().update(_with_oneflows_names(globals()))
