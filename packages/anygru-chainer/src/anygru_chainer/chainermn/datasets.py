"""Datasets for several processes."""

from typing import Any

import numpy

from ..dataset.base import Examples
from ..datasets.combined import TransformDataset
from ..datasets.sub_dataset import SubDataset
from .communicators import CommunicatorBase


def scatter_dataset(
    dataset: Examples,
    comm: CommunicatorBase,
    root: int = 0,
    shuffle: bool = False,
    seed: int | None = None,
    max_buf_len: int = 0,
    *,
    force_equal_length: bool = True,
) -> Any:
    """A part of the dataset of process `root` for each process.

    Args:
        shuffle: deal the examples out in random order (the same in all processes).
        seed: of that order.
        force_equal_length: make all parts as long as the longest, by giving some examples twice.
    """
    dataset = comm.bcast_obj(dataset if comm.rank == root else None, root=root)
    n_examples = len(dataset)
    order = numpy.arange(n_examples)
    if shuffle:
        order = numpy.random.RandomState(comm.bcast_obj(_seed(seed), root=root)).permutation(n_examples)
    if force_equal_length:
        size = -(-n_examples // comm.size)
        start = n_examples * comm.rank // comm.size
        stop = min(start + size, n_examples)
        start = max(stop - size, 0)
    else:
        start, stop = (n_examples * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    return SubDataset(dataset, start, stop, order)


def _seed(seed: int | None) -> int:
    return int(numpy.random.randint(2**31)) if seed is None else seed


def create_empty_dataset(dataset: Examples) -> Any:
    """A dataset of the same length whose examples are empty tuples."""
    return TransformDataset(dataset, lambda example: ())
