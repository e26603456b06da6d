"""`paddle.create_parameter`."""

from collections.abc import Sequence

import torch

from ..base.layer_helper import create_parameter as make
from ..base.param_attr import Attribute
from ..framework.dtype import as_dtype
from ..framework.kinds import DTypeLike
from ..nn.initializer.initializer import Initializer

__all__ = ["create_parameter"]


def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike,
    name: str | None = None,
    attr: Attribute = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> torch.Tensor | None:
    """A parameter outside any layer; see `Layer.create_parameter`."""
    return make(attr, shape, as_dtype(dtype), is_bias, default_initializer, prefix="create_parameter", name=name)
