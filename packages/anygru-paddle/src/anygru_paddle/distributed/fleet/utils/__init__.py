"""Helpers of `paddle.distributed.fleet`."""

from . import hybrid_parallel_util as hybrid_parallel_util
