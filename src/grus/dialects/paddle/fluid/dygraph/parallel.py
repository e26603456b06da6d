"""`paddle.fluid.dygraph.parallel`: data parallelism under its first names."""

from __future__ import annotations

from typing import Any

from grus.dialects import refuser

from ...distributed.parallel import DataParallel as DataParallel
from ...distributed.parallel import ParallelEnv as ParallelEnv
from ...distributed.parallel import get_rank, get_world_size, init_parallel_env

__all__ = ["DataParallel", "ParallelEnv", "prepare_context"]

Env = ParallelEnv


class ParallelStrategy:
    """The place of this process, as `prepare_context` returns it and `DataParallel` takes it."""

    def __init__(self) -> None:
        env = ParallelEnv()
        self.nranks = get_world_size()
        self.local_rank = get_rank()
        self.trainer_endpoints = env.trainer_endpoints
        self.current_endpoint = env.current_endpoint


def prepare_context(strategy: Any = None) -> Any:
    """Connect the processes of the job and give the strategy, a new one unless given; nothing on a single process."""
    strategy = ParallelStrategy() if strategy is None else strategy
    if strategy.nranks < 2:
        return None
    init_parallel_env()
    return strategy


__getattr__ = refuser("paddle", "paddle.fluid.dygraph.parallel")
