"""Data sets and loaders: torch's, giving OneFlow's tensors."""

from typing import Any

from torch.utils.data import Dataset, default_collate
from torch.utils.data.dataloader import DataLoader as _DataLoader

from ...framework.dressing import dress

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

    def __init__(self, dataset: Dataset, batch_size: int | None = 1, *args: Any, **kwargs: Any) -> None:
        if batch_size is not None and len(args) < 5:  # the fifth one after the batch size is collate_fn
            kwargs.setdefault("collate_fn", collate)
        super().__init__(dataset, batch_size, *args, **kwargs)
