"""`gluon.data.vision.transforms`: pictures as arrays of a network."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ....base import DtypeLike
from ....ndarray.utils import array
from ....symbol.nesting import Data
from ...blocks.hybrid import HybridBlock
from ...nn.containers import Sequential


class Compose(Sequential):
    """Transforms one after the other."""

    def __init__(self, transforms: list[Any]) -> None:
        super().__init__()
        self.add(*transforms)


class Cast(HybridBlock):
    """Another dtype."""

    def __init__(self, dtype: DtypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        """The picture in the dtype."""
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """[H, W, C] of whole numbers up to 255 (or [N, H, W, C]) to [C, H, W] of numbers up to 1."""

    def hybrid_forward(self, F: ModuleType, x: Any) -> Any:
        """The picture, channels first."""
        axes = (2, 0, 1) if x.ndim == 3 else (0, 3, 1, 2)
        return F.transpose(F.cast(x, dtype="float32"), axes=axes) / 255.0


class Normalize(HybridBlock):
    """(x - mean) / std, by channel."""

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean, self._std = mean, std

    def hybrid_forward(self, F: ModuleType, x: Any) -> Any:
        """The normalised picture [C, H, W]."""
        mean, std = (
            array([value] if isinstance(value, (int, float)) else value).reshape((-1, 1, 1))
            for value in (self._mean, self._std)
        )
        return (x - mean) / std
