"""`mxnet.rnn.rnn_cell`: the cells."""
# ruff: noqa: F403 (this module re-exports names)

from .base_cell import *
from .combined_cells import *
from .fused_cell import *
from .gated_cells import *
from .modifier_cells import *
