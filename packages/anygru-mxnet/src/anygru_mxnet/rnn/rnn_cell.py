"""`mxnet.rnn.rnn_cell`: the cells."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .base_cell import *
from .combined_cells import *
from .fused_cell import *
from .gated_cells import *
from .modifier_cells import *
