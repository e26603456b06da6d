"""`mxnet.gluon.rnn.rnn_cell`: the cells."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .combined_cells import *
from .gru_cell import *
from .modifier_cells import *
from .other_cells import *
from .recurrent_cell import *
