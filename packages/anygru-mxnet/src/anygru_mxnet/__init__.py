"""MXNet's dialect: `import anygru_mxnet as mx`, or any MXNet 1.x Gluon script under `anygru run`.

Names are at the same places as in MXNet 1.9. `names.txt` lists covered and refused names, with the
reason; `README.md` lists differences.
"""

from anygru.extend import cover as _cover

from . import (
    attribute,
    autograd,
    base,
    callback,
    context,
    contrib,
    executor,
    gluon,
    initializer,
    io,
    kvstore,
    lr_scheduler,
    metric,
    model,
    module,
    monitor,
    name,
    ndarray,
    numpy,
    numpy_extension,
    operator,
    optimizer,
    profiler,
    random,
    registry,
    rnn,
    runtime,
    symbol,
    test_utils,
    util,
    visualization,
)
from . import initializer as init
from . import kvstore as kv
from . import module as mod
from . import monitor as mon
from . import ndarray as nd
from . import numpy as np
from . import numpy_extension as npx
from . import random as rnd
from . import symbol as sym
from . import visualization as viz
from .attribute import AttrScope
from .base import MXNetError
from .context import *
from .ndarray.utils import waitall
from .util import is_np_array, is_np_shape, np_array, np_shape, set_np_shape, use_np, use_np_array, use_np_shape

__version__ = "1.9.1"

_cover(__name__)
