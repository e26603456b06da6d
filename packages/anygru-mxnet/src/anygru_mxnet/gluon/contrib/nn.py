"""`gluon.contrib.nn`: blocks side by side."""

from types import ModuleType
from typing import Any

from ...ndarray.register import FUNCTIONS
from ...symbol.nesting import Data
from ..blocks.hybrid import HybridBlock
from ..blocks.parameter_dict import ParameterDict
from ..nn.containers import HybridSequential, Sequential

__all__ = ["Concurrent", "HybridConcurrent", "Identity"]


class Concurrent(Sequential):
    """Blocks on the same input; their outputs are joined along an axis."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        return FUNCTIONS["concat"](*(block(x) for block in self._children.values()), dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Hybrid blocks on the same input; their outputs are joined along an axis."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        return F.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class Identity(HybridBlock):
    """A block that returns its input."""

    def hybrid_forward(self, F: ModuleType, x: Data) -> Any:
        return x
