"""`Group`: the processes that a collective joins, and the register of groups."""

import warnings
from typing import Any

import torch.distributed as dist


class Group:
    """Some of the job's processes, in the order of their ranks in the group.

    Attributes:
        rank: this process's rank in the group, -1 if it is not one of them.
        ranks: the global rank of each.
        process_group: torch's process group; None where this process is not in it.
    """

    def __init__(self, rank_in_group: int, id: int, ranks: list[int], pg: Any = None, name: str | None = None) -> None:
        self.rank = rank_in_group
        self.id = id
        self.ranks = ranks
        self.process_group = pg
        self.name = name

    @property
    def nranks(self) -> int:
        """How many processes."""
        return len(self.ranks)

    @property
    def world_size(self) -> int:
        """How many processes; -1 where this one is not among them."""
        return len(self.ranks) if self.rank >= 0 else -1

    @property
    def backend(self) -> str:
        """ "GLOO" or "NCCL"."""
        return backend_name(self.process_group)

    def is_member(self) -> bool:
        """Whether this process takes part in a group of several."""
        return self.rank >= 0 and self.nranks >= 2

    def get_group_rank(self, rank: int) -> int:
        """The rank in the group of the process with this global rank, -1 if it is not in it."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def __repr__(self) -> str:
        members = ", ".join(map(str, self.ranks))
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {members}; name: {self.name}"


_groups: dict[int, Group] = {}
_FIRST_NEW_ID = 10  # Paddle keeps the smaller numbers for itself


def set_global_group() -> Group:
    """Register torch's default process group as group 0, once."""
    if 0 not in _groups:
        ranks = list(range(dist.get_world_size()))
        _groups[0] = Group(dist.get_rank(), 0, ranks, dist.group.WORLD, "_default_pg")
    return _groups[0]


def add_group(ranks: list[int], process_group: Any, rank: int) -> Group:
    """Register a new group."""
    number = max(_FIRST_NEW_ID, *(known + 1 for known in _groups)) if _groups else _FIRST_NEW_ID
    _groups[number] = Group(rank, number, ranks, process_group, f"_default_pg{number}")
    return _groups[number]


def get_group(id: int = 0) -> Group | None:
    """The group of this number, None (with a warning) if there is none."""
    if id not in _groups:
        warnings.warn(f"Group {id} is not initialized.", stacklevel=2)
    return _groups.get(id)


def global_group() -> Group:
    """Group 0. Raises RuntimeError before `init_parallel_env` and on a single process, which has no group."""
    if 0 not in _groups:
        raise RuntimeError("The global group is not initialized.")
    return _groups[0]


def is_initialized() -> bool:
    """Whether the global group exists."""
    return 0 in _groups


def destroy_process_group(group: Group | None = None) -> None:
    """Close one group, or all of them."""
    group = global_group() if group is None else group
    if group.process_group is not None and dist.is_initialized():
        dist.destroy_process_group(None if group.id == 0 else group.process_group)
    for number in list(_groups) if group.id == 0 else [group.id]:
        _groups.pop(number, None)


def get_backend(group: Group | None = None) -> str:
    """ "GLOO" or "NCCL". Raises RuntimeError for a group that this process is not in."""
    group = global_group() if group is None else group
    if group.rank < 0:
        raise RuntimeError("Invalid group specified: this process is not in it")
    return group.backend


def backend_name(process_group: Any) -> str:
    """Paddle's name of the backend: NCCL if the group carries CUDA tensors; GLOO otherwise."""
    return "NCCL" if "nccl" in dist.get_backend_config(process_group) else "GLOO"


def resolve(group: Group | None) -> Group | None:
    """The group that a collective joins: None (with a warning) if this process is not in it."""
    if group is None:
        return global_group()
    if group.rank < 0:
        warnings.warn(f"Current global rank {_global_rank()} is not in group {group.name}", stacklevel=3)
        return None
    return group


def _global_rank() -> int:
    return _groups[0].rank if 0 in _groups else 0
