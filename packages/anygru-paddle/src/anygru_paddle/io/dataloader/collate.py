"""Samples put together to a batch: in NumPy where they are not tensors; the loader makes tensors of the arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...tensor.creation import to_tensor
from ...tensor.operation import plain, wrap


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """The batch of samples, field by field: tensors stacked, numbers and arrays as one NumPy array.

    Raises:
        TypeError: for samples of a kind that cannot be put together.
        RuntimeError: for samples with different numbers of fields.
    """
    sample = batch[0]
    if isinstance(sample, np.ndarray):
        return np.stack(batch, axis=0)
    if isinstance(sample, torch.Tensor):
        return wrap(torch.stack([plain(each) for each in batch]))
    if isinstance(sample, (bool, int, float, np.number, np.bool_)):
        # Python's floats make a float64 tensor here, the default dtype in `to_tensor` (recorded, 2.6.2).
        return np.array(batch)
    if isinstance(sample, (str, bytes)):
        return list(batch)
    if isinstance(sample, Mapping):
        return {key: default_collate_fn([each[key] for each in batch]) for key in sample}
    if isinstance(sample, Sequence):
        if not all(len(each) == len(sample) for each in batch):
            raise RuntimeError("fields number not same among samples")
        return [default_collate_fn(fields) for fields in zip(*batch, strict=True)]
    raise TypeError(
        "batch data con only contains: tensor, numpy.ndarray, dict, list, number, but got " + str(type(sample))
    )


def as_tensors(value: Any) -> Any:
    """Arrays within nested lists, tuples and dicts as tensors. Lists take the tuples' place, and no tensor has a gradient
    (recorded, 2.6.2).
    """
    if isinstance(value, torch.Tensor):
        return value.detach() if value.requires_grad else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return to_tensor(value)
    if isinstance(value, dict):
        return {key: as_tensors(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_tensors(each) for each in value]
    return value


def as_arrays(value: Any) -> Any:
    """Convert tensors in nested lists, tuples and dicts to arrays, for transport from a worker."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {key: as_arrays(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(as_arrays(each) for each in value)
    return value
