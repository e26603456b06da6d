"""Helpers of `paddle.distributed.fleet`."""

from anygru.dialects import refuser

from . import hybrid_parallel_util as hybrid_parallel_util

__getattr__ = refuser("paddle", "paddle.distributed.fleet.utils", {"recompute": "torch.utils.checkpoint.checkpoint"})
