"""Layers: torch's as `oneflow.nn.Module`, and the layers in which OneFlow differs."""

from ..framework.arguments import of_tensors as _of_tensors
from ..framework.tensor import Parameter
from . import common_types, functional, init, parallel, utils
from .graph.graph import Graph
from .modules import utils as _utils
from .modules.container import *
from .modules.layers import *
from .modules.loss import *
from .modules.module import Module
from .modules.own import *
from .modules.rnn import *

_layers = {
    kind
    for layer in list(globals().values())
    if isinstance(layer, type) and not issubclass(layer, Sequential)
    for kind in layer.__mro__
    if issubclass(kind, Module) and "forward" in vars(kind)
}
for _kind in _layers:
    _kind.forward = _of_tensors(_kind.forward)
