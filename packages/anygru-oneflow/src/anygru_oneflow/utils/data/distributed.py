"""Each process gets its part of a data set."""

from collections.abc import Iterator
from typing import Any

from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler as _DistributedSampler

from ... import env
from ...framework.generator import Generator


class DistributedSampler(_DistributedSampler):
    """As torch's, for the processes of this job."""

    def __init__(
        self, dataset: Dataset, num_replicas: int | None = None, rank: int | None = None, *args: Any, **kwargs: Any
    ) -> None:
        replicas = env.get_world_size() if num_replicas is None else num_replicas
        super().__init__(dataset, replicas, env.get_rank() if rank is None else rank, *args, **kwargs)

    def __iter__(self) -> Iterator[int]:
        size, shuffled = len(self.dataset), self.shuffle  # type: ignore[arg-type]
        order = Generator("cpu").manual_seed(self.seed + self.epoch).permutation(size) if shuffled else range(size)
        self.shuffle = False
        try:
            places = list(super().__iter__())
        finally:
            self.shuffle = shuffled
        return (int(order[place]) for place in places)
