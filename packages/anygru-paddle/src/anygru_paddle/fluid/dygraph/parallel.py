"""`paddle.fluid.dygraph.parallel`."""

from ...distributed import parallel
from ...distributed.parallel import DataParallel as DataParallel
from ...distributed.parallel import ParallelEnv as ParallelEnv

__all__ = ["DataParallel", "ParallelEnv", "ParallelStrategy", "prepare_context"]

Env = ParallelEnv


class ParallelStrategy:
    """The rank of this process; an argument of Paddle 1.x's `DataParallel`."""

    def __init__(self) -> None:
        environment = ParallelEnv()
        self.nranks, self.local_rank = environment.nranks, environment.local_rank
        self.trainer_endpoints = environment.trainer_endpoints
        self.current_endpoint = environment.current_endpoint


def prepare_context(strategy: ParallelStrategy | None = None) -> ParallelStrategy | None:
    """Connect this process with the others of the job, if there are any; returns the strategy for `DataParallel`."""
    strategy = strategy or ParallelStrategy()
    if strategy.nranks < 2:
        return None
    parallel.init_parallel_env()
    return strategy
