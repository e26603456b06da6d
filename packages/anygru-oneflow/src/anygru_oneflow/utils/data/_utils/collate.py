"""How a loader makes a batch of samples, and converts a single sample.

torch's functions would make torch's tensors here, which also differ from OneFlow's in a worker process.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ....framework.dressing import dress
from ....framework.dtype import float64
from ....framework.functions import tensor

__all__ = ["default_collate", "default_convert"]

_TEXT = (str, bytes)


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of samples: a tensor of their tensors, arrays or numbers, and a dict or sequence of batches for samples that
    are dicts or sequences.

    Raises:
        TypeError: samples of another type.
        RuntimeError: sequences of different lengths.
    """
    first = batch[0]
    if isinstance(first, torch.Tensor):
        return dress(torch.stack(list(batch)))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return default_collate([tensor(sample) for sample in batch])
    if isinstance(first, _TEXT):
        return batch
    if isinstance(first, (int, float, np.generic)):
        # Python's floats are float64 here, and NumPy's float32 (recorded in 0.9.0).
        return tensor(list(batch), dtype=float64 if type(first) is float else None)
    if isinstance(first, Mapping):
        return {name: default_collate([sample[name] for sample in batch]) for name in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(default_collate, zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(parts) for parts in zip(*batch, strict=True)]
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(data: Any) -> Any:
    """A sample with NumPy's arrays and numbers as tensors; its tuples become lists, as in OneFlow."""
    if isinstance(data, (*_TEXT, torch.Tensor)) or (isinstance(data, np.ndarray) and data.dtype.kind in "SUO"):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return tensor(data)
    if isinstance(data, Mapping):
        return {name: default_convert(part) for name, part in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return [default_convert(part) for part in data] if isinstance(data, Sequence) else data
