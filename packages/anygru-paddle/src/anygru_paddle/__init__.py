"""The Paddle dialect: `import anygru_paddle as paddle`, or `import paddle` under `anygru run`.

Scripts written for Paddle's dynamic graph (2.x, and the parts of `fluid.dygraph` still in use) run on PyTorch; every GRU is
computed by anygru. `names.txt` lists covered and refused names.
"""

import sys as _sys

from anygru.extend import cover as _cover

from . import amp as amp
from . import autograd as autograd
from . import base as base
from . import callbacks as callbacks
from . import dataset as dataset
from . import device as device
from . import distributed as distributed
from . import distribution as distribution
from . import fft as fft
from . import fluid as fluid
from . import framework as framework
from . import geometric as geometric
from . import hapi as hapi
from . import incubate as incubate
from . import inference as inference
from . import io as io
from . import jit as jit
from . import linalg as linalg
from . import metric as metric
from . import nn as nn
from . import optimizer as optimizer
from . import profiler as profiler
from . import reader as reader
from . import regularizer as regularizer
from . import signal as signal
from . import static as static
from . import tensor as tensor
from . import text as text
from . import utils as utils
from . import version as version
from . import vision as vision
from .base import core as _core
from .base import flags as _flags
from .base import framework as _framework
from .base import param_attr as _param_attr
from .base.core import *
from .base.dygraph import base as _gradients
from .base.dygraph.base import *
from .base.flags import *
from .base.framework import in_dynamic_mode as in_dynamic_mode
from .base.param_attr import *
from .batch import *
from .device import get_cudnn_version as get_cudnn_version
from .device import get_device as get_device
from .device import is_compiled_with_custom_device as is_compiled_with_custom_device
from .device import set_device as set_device
from .distributed.parallel import DataParallel as DataParallel
from .framework.dtype import *
from .framework.dtype import bool_ as bool
from .framework.framework import *
from .framework.io import *
from .framework.random import *
from .hapi.dynamic_flops import *
from .hapi.model import *
from .hapi.model_summary import *
from .tensor.attribute import *
from .tensor.creation import *
from .tensor.inplace import *
from .tensor.linalg import *
from .tensor.logic import *
from .tensor.manipulation import *
from .tensor.math import *
from .tensor.matrices import eigvalsh as eigvalsh
from .tensor.ops import *
from .tensor.pairs import *
from .tensor.parameter import *
from .tensor.random import *
from .tensor.reduction import *
from .tensor.search import *
from .tensor.selection import *
from .tensor.special import *
from .tensor.stat import *
from .tensor.tensor import Tensor as Tensor
from .tensor.to_string import *

__version__ = version.full_version

# Tensors depend on these two packages, so these names are imported last.
_WORDS = (_core, _flags, _framework, _param_attr, _gradients)
for _face, _homes in {base: _WORDS, framework: (*_WORDS, framework.framework, framework.io, framework.random)}.items():
    for _home in _homes:
        vars(_face).update((_name, vars(_home)[_name]) for _name in _home.__all__ if _name not in vars(_face))
vars(framework)["core"] = _core
paddle = _sys.modules[__name__]  # Paddle's package imports itself, and programs write `paddle.paddle`

_cover(__name__)
