"""The OneFlow dialect: OneFlow 0.9's eager names on PyTorch.

Most functions are torch's own: called on OneFlow's tensors they give OneFlow's tensors (see `framework.tensor`).
"""

import torch
import torch.nn.functional

from anygru.extend import cover as _cover

from . import (
    _C,
    _oneflow_internal,
    amp,
    autograd,
    boxing,
    comm,
    cuda,
    distributed,
    distributions,
    env,
    framework,
    linalg,
    multiprocessing,
    nn,
    optim,
    sbp,
    utils,
)
from .amp.autocast_mode import *
from .autograd.autograd import inference_mode, set_grad_enabled
from .framework import absent as _absent
from .framework import places as _places
from .framework import unittest as _unittest
from .framework.arguments import teach_methods as _teach_methods
from .framework.arguments import with_oneflows_names as _with_oneflows_names
from .framework.arithmetic import *
from .framework.check_point_v2 import *
from .framework.differing import *
from .framework.dtype import *
from .framework.dtype import bool_ as _bool
from .framework.functions import *
from .framework.indexing import *
from .framework.limits import *
from .framework.placement import placement
from .framework.products import *
from .framework.random import *
from .framework.reductions import *
from .framework.tensor import Tensor
from .framework.tensor_str import set_printoptions
from .framework.torch_names import share as _share
from .framework.torch_names import torch_names as _torch_names

_oneflow_internal._C = _C  # type: ignore[attr-defined]
globals().update({**_torch_names("oneflow", torch, torch.nn.functional), **globals()})
globals().update(_with_oneflows_names(globals()))
_teach_methods(Tensor)
_share(_C, globals(), vars(nn.functional))

# Names that Python has as well.
bool, int, long, float, double, half = _bool, int32, int64, float32, float64, float16

__version__ = "0.9.0"

_cover(__name__)
