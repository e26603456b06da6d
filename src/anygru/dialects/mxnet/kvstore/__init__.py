"""`mx.kv`: sums of gradients over devices and processes."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from anygru.dialects import refuser

from .kvstore import *

__getattr__ = refuser("mxnet", "mxnet.kvstore", {"KVStoreServer": "torch.distributed", "Horovod": "torch.distributed"})
