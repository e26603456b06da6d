"""Several processes, one model: torch.distributed underneath, with an end for every job.

`start()` connects the processes that a launcher started, `DataParallel` averages gradients among them, `spawn()` and
`launch()` start them.
"""

from .data_parallel import DataParallel as DataParallel
from .data_parallel import ModelMismatchError as ModelMismatchError
from .data_parallel import average_gradients as average_gradients
from .launch import launch as launch
from .spawn import Workers as Workers
from .spawn import spawn as spawn
from .world import LONG_TIMEOUT as LONG_TIMEOUT
from .world import World as World
from .world import launch_timeout as launch_timeout
from .world import launched as launched
from .world import start as start
from .world import stop as stop
from .world import world as world

__all__ = [
    "DataParallel", "LONG_TIMEOUT", "ModelMismatchError", "Workers", "World", "average_gradients", "launch",
    "launched", "spawn", "start", "stop", "launch_timeout", "world",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
