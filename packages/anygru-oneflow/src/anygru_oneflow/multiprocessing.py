"""Processes that send each other tensors: torch's names, but a tensor travels as a copy."""

import pickle
from multiprocessing.reduction import ForkingPickler as _ForkingPickler
from typing import Any

import torch as _torch

from .framework.tensor import Parameter as _Parameter
from .framework.tensor import Tensor as _Tensor
from .framework.torch_names import torch_names as _torch_names

globals().update(_torch_names("oneflow.multiprocessing", _torch.multiprocessing))


def _reduced(tensor: _Tensor) -> tuple[Any, ...]:
    """A tensor by value, as OneFlow 0.9.0 sends it: the receiver's changes are its own, and the sender may have ended.

    torch shares the memory, for which the sender has to live. A worker of a DataLoader does, so its batches stay shared.
    """
    if _torch.utils.data.get_worker_info() is not None:
        return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    return pickle.loads, (pickle.dumps(tensor),)


for _kind in (_Tensor, _Parameter):
    _ForkingPickler.register(_kind, _reduced)
