"""Each process its part of a data set."""

from typing import Any

from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler as _DistributedSampler

from ... import env


class DistributedSampler(_DistributedSampler):
    """As torch's, for the processes of this job."""

    def __init__(
        self, dataset: Dataset, num_replicas: int | None = None, rank: int | None = None, *args: Any, **kwargs: Any
    ) -> None:
        replicas = env.get_world_size() if num_replicas is None else num_replicas
        super().__init__(dataset, replicas, env.get_rank() if rank is None else rank, *args, **kwargs)
