"""MXNet's dialect: `import anygru.dialects.mxnet as mx`, or any MXNet 1.x Gluon script under `anygru run`.

Names stand where MXNet 1.9 has them.  What is covered, and what is not and why, is in `names.txt`; `docs/mxnet.md` tells
where results may differ.
"""
# ruff: noqa: F401 (names are gathered here to be taken from here)

from anygru.dialects import refuser

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
from .context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from .ndarray import waitall

__version__ = "1.9.1"

__getattr__ = refuser(
    "mxnet",
    "mxnet",
    {
        "np": "NumPy or torch, whose arrays are those of mx.np",
        "npx": "torch.nn.functional",
        "mod": "gluon, or a torch training loop",
        "module": "gluon, or a torch training loop",
        "model": "gluon, or a torch training loop",
        "rnn": "gluon.rnn.GRU or anygru.GRU",
        "io": "gluon.data.DataLoader or torch.utils.data.DataLoader",
        "image": "torchvision.transforms",
        "recordio": "torch.utils.data.Dataset",
        "profiler": "torch.profiler",
        "viz": "torchviz",
        "visualization": "torchviz",
        "operator": "mx.autograd.Function or torch.autograd.Function",
        "contrib": "torch",
        "test_utils": "torch.testing or numpy.testing",
        "callback": "a line in the training loop",
        "monitor": "forward hooks",
        "engine": "torch, which needs no such hints",
        "AttrScope": "keywords of mx.sym.var",
    },
)
