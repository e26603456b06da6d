"""`mx.kv`: sums of gradients over devices and processes."""

from .kvstore import *
