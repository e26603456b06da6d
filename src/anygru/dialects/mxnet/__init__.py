"""MXNet's dialect: `import anygru.dialects.mxnet as mx`, or any MXNet 1.x Gluon script under `anygru run`.

Names stand where MXNet 1.9 has them.  What is covered, and what is not and why, is in `names.txt`; `docs/mxnet.md` tells
where results may differ.
"""

from .._hook.not_covered import cover as _cover
from . import (
    autograd,
    base,
    context,
    gluon,
    initializer,
    kvstore,
    lr_scheduler,
    metric,
    name,
    ndarray,
    optimizer,
    random,
    symbol,
)
from . import initializer as init
from . import kvstore as kv
from . import ndarray as nd
from . import random as rnd
from . import symbol as sym
from .base import MXNetError
from .context import *
from .ndarray import waitall

__version__ = "1.9.1"

_cover(__name__)
