"""The bytes of an array in MXNet's pickles: a file of one array without its beginning (magic number, count) and end (names)."""

import struct
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anygru.errors import CheckpointError
from anygru.extend import Budget
from anygru.extend import mxnet_files as files

_HEADER = struct.Struct("<QQQ")
_END = struct.pack("<Q", 0)


def record_of(tensor: Tensor) -> bytes:
    """The bytes of a tensor."""
    return files.dumps([tensor.detach().cpu().numpy()])[_HEADER.size : -len(_END)]


def of_record(pickled: Any, budget: Budget) -> Tensor:
    """The tensor in the pickled state of an array.

    Raises:
        CheckpointError: for a state without the bytes of an array.
    """
    record = pickled.get("handle") if isinstance(pickled, dict) else None
    if not isinstance(record, (bytes, bytearray, memoryview)):
        raise CheckpointError("the state of an NDArray must contain its bytes")
    budget.take(3 * len(record))
    values = files.loads(_HEADER.pack(0x112, 0, 1) + bytes(record) + _END, budget)
    return torch.from_numpy(np.array(values[0]))  # type: ignore[index]
