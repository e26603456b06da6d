"""`gluon.data.vision.transforms`: transforms of images."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ....base import DtypeLike
from ....ndarray.utils import array
from ....symbol.nesting import Data
from ...blocks.hybrid import HybridBlock
from ...nn.containers import Sequential


class Compose(Sequential):
    """Applies transforms in order."""

    def __init__(self, transforms: list[Any]) -> None:
        super().__init__()
        self.add(*transforms)


class Cast(HybridBlock):
    """Another dtype."""

    def __init__(self, dtype: DtypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        """Converts the dtype of an image."""
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """Converts uint8 images [H, W, C] (or [N, H, W, C]) to float32 [C, H, W] with values from 0 to 1."""

    def hybrid_forward(self, F: ModuleType, x: Any) -> Any:
        """The image [C, H, W]."""
        axes = (2, 0, 1) if x.ndim == 3 else (0, 3, 1, 2)
        return F.transpose(F.cast(x, dtype="float32"), axes=axes) / 255.0


class Normalize(HybridBlock):
    """Computes (x - mean) / std for each channel."""

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean, self._std = mean, std

    def hybrid_forward(self, F: ModuleType, x: Any) -> Any:
        """The normalised image [C, H, W]."""
        mean, std = (
            array([value] if isinstance(value, (int, float)) else value).reshape((-1, 1, 1))
            for value in (self._mean, self._std)
        )
        return (x - mean) / std
