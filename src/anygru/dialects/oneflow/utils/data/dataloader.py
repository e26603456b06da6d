"""Data sets and loaders: torch's, giving OneFlow's tensors."""

from __future__ import annotations

from typing import Any

from torch.utils.data import BatchSampler as BatchSampler
from torch.utils.data import ConcatDataset as ConcatDataset
from torch.utils.data import Dataset as Dataset
from torch.utils.data import IterableDataset as IterableDataset
from torch.utils.data import RandomSampler as RandomSampler
from torch.utils.data import Sampler as Sampler
from torch.utils.data import SequentialSampler as SequentialSampler
from torch.utils.data import Subset as Subset
from torch.utils.data import SubsetRandomSampler as SubsetRandomSampler
from torch.utils.data import TensorDataset as TensorDataset
from torch.utils.data import default_collate
from torch.utils.data import get_worker_info as get_worker_info
from torch.utils.data import random_split as random_split
from torch.utils.data.dataloader import DataLoader as _DataLoader

from ...framework.dressing import dress
from .distributed import DistributedSampler as DistributedSampler

__all__ = ["DataLoader", "collate"]


def collate(samples: list[Any]) -> Any:
    """A batch of the samples, as torch puts it together."""
    return _dressed(default_collate(samples))


def _dressed(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {name: _dressed(part) for name, part in batch.items()}
    if isinstance(batch, (list, tuple)):
        for part in batch:
            _dressed(part)
    return dress(batch)


class DataLoader(_DataLoader):
    """As torch.utils.data.DataLoader, with OneFlow's tensors."""

    def __init__(self, dataset: Any, batch_size: int | None = 1, *args: Any, **kwargs: Any) -> None:
        if batch_size is not None and len(args) < 5:
            kwargs.setdefault("collate_fn", collate)
        super().__init__(dataset, batch_size, *args, **kwargs)
