"""The result of `get_tensor`: the memory of a tensor under the name of Paddle's C++ class."""

from typing import Any

import numpy as np
import torch

from ..base import core
from ..framework.kinds import Operand
from .operation import as_torch, plain


class DenseTensor:
    """The values of a tensor, without its gradient; `set` overwrites them."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def shape(self) -> list[int]:
        """The lengths of the axes."""
        return list(plain(self._tensor).shape)

    def set(self, value: Operand, place: core.Place | None = None) -> None:
        """Replace values and shape by an array's."""
        new = as_torch(value).detach().to(plain(self._tensor).dtype)
        data = plain(self._tensor.detach())
        if new.shape == data.shape:
            data.copy_(new)
        else:
            self._tensor.data = new.clone()

    def lod(self) -> list[Any]:
        """[]: lengths of parts are not kept in a tensor."""
        return []

    recursive_sequence_lengths = lod

    def _is_initialized(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = plain(self._tensor.detach()).cpu().numpy().copy()
        return array if dtype is None else array.astype(dtype)

    def __str__(self) -> str:
        head = f"  - shape: {self.shape()}\n  - layout: NCHW\n"
        values = plain(self._tensor.detach()).flatten().tolist()
        if not values:
            return head + "uninited\n"
        texts = " ".join(f"{value:g}" if isinstance(value, float) else str(int(value)) for value in values)
        kind = str(plain(self._tensor).dtype).removeprefix("torch.")
        return f"{head}  - place: {core.Place(self._tensor.device)}\n  - dtype: {kind}\n  - data: [{texts}]"


DenseTensor.__name__ = "Tensor"  # as Paddle calls it
