"""Variables that have no values yet."""

import torch

from ..framework.dtype import torch_dtype
from ..framework.kinds import DTypeLike, Operand
from .operation import as_torch, wrap
from .tensor import Tensor


class Uninitialized(Tensor):
    """A variable without a value: its shape is [], it has no element, and it becomes a Tensor when assigned."""

    @property
    def shape(self) -> list[int]:  # type: ignore[override]
        """[], also after a value is assigned."""
        return []

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """0."""
        return 0

    @property
    def size(self) -> int:  # type: ignore[override]
        """1, as of any shape []."""
        return 1

    def _is_initialized(self) -> bool:
        return False

    def set_value(self, value: Operand) -> None:
        """Take a 0-D value; others do not fit, `paddle.assign` takes them."""
        super().set_value(value)
        self.data = as_torch(value).detach().clone()

    @property
    def data(self) -> torch.Tensor:
        """The variable itself."""
        return self

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        self.__class__ = Tensor  # type: ignore[assignment]
        self.data = value


def create_tensor(dtype: DTypeLike, name: str | None = None, persistable: bool = False) -> Tensor:
    """A variable without values until something is assigned to it."""
    tensor = wrap(torch.zeros([0], dtype=torch_dtype(dtype)))
    tensor.__class__ = Uninitialized
    if name is not None:
        tensor.name = name
    tensor.persistable = persistable
    return tensor
