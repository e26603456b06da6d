"""`mxnet.gluon.rnn.rnn_cell`: the cells."""
# ruff: noqa: F403 (this module re-exports names)

from .combined_cells import *
from .gru_cell import *
from .modifier_cells import *
from .other_cells import *
from .recurrent_cell import *
