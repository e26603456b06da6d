"""The rank of this process and the number of processes."""

from anygru import parallel as _parallel
from anygru.parallel import world as _world

from .framework.placement import placement


def _start() -> _parallel.World:
    return _parallel.start(timeout=_parallel.launch_timeout(_parallel.LONG_TIMEOUT))


def get_rank() -> int:
    """The number of this process in the job."""
    return _start().rank


def get_world_size() -> int:
    """How many processes the job has."""
    return _start().size


def get_local_rank() -> int:
    """The number of this process on its machine."""
    return _start().local_rank


def all_device_placement(device_type: str) -> placement:
    """All processes of the job, as a placement."""
    return placement.all(device_type)


def get_node_size() -> int:
    """How many machines the job has."""
    place = _world()
    return -(-place.size // place.local_size)
