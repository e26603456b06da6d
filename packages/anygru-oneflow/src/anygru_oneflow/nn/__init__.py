"""Layers: torch's as `oneflow.nn.Module`, and the layers in which OneFlow differs."""

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
