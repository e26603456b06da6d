"""Training steps as objects."""

from ..modules.graph_block import GraphModule, GraphTensor
from .graph import Graph
