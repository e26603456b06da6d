"""`mx.kv`: sums of gradients over devices and processes."""

from grus.dialects import refuser

from .kvstore import *

__getattr__ = refuser("mxnet", "mxnet.kvstore", {"KVStoreServer": "torch.distributed", "Horovod": "torch.distributed"})
