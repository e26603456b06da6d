"""`paddle.distributed.fleet`, limited to data parallelism."""

from typing import Any

from ..parallel import DataParallel, ParallelEnv, get_rank, get_world_size, init_parallel_env
from . import utils as utils


def init(role_maker: Any = None, is_collective: bool = False, strategy: Any = None, log_level: Any = "INFO") -> None:
    """Connect the processes of the job; nothing on a single one.

    Raises NotImplementedError unless it is `is_collective=True` with the default strategy.
    """
    if role_maker is not None or not is_collective or strategy is not None:
        raise NotImplementedError(
            "fleet.init: anygru covers fleet.init(is_collective=True), which is data parallelism; "
            "for parameter servers and other strategies see torch.distributed"
        )
    if get_world_size() > 1:
        init_parallel_env()


def distributed_model(model: Any) -> Any:
    """The model as `paddle.DataParallel`; on a single process the model itself."""
    return DataParallel(model) if get_world_size() > 1 else model


def distributed_optimizer(optimizer: Any, strategy: Any = None) -> Any:
    """The optimizer itself: gradients are averaged before it steps."""
    if strategy is not None:
        raise NotImplementedError("fleet.distributed_optimizer: strategy must be None; data parallelism is covered")
    return optimizer


def worker_index() -> int:
    """This process's rank."""
    return get_rank()


def worker_num() -> int:
    """How many processes the job has."""
    return get_world_size()


def is_first_worker() -> bool:
    """Whether this is rank 0."""
    return get_rank() == 0


def local_rank() -> int:
    """This process's number on its machine."""
    return ParallelEnv().device_id


rank = worker_index
nranks = world_size = worker_num
