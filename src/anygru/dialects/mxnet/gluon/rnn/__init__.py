"""`gluon.rnn`: GRU layers and cells."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .rnn_cell import *
from .rnn_layer import *
