"""`paddle.fluid.dygraph.layers`."""

from ...nn.layer.layers import HookRemoveHelper as HookRemoveHelper
from ...nn.layer.layers import Layer as Layer

__all__ = ["Layer"]
