"""`paddle.fluid.dygraph.container`."""

from ...nn.layer.container import LayerList as LayerList
from ...nn.layer.container import ParameterList as ParameterList
from ...nn.layer.container import Sequential as Sequential
