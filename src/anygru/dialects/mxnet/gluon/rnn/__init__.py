"""`gluon.rnn`: GRU layers and cells."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from anygru.dialects import refuser

from .rnn_cell import *
from .rnn_layer import *

__getattr__ = refuser(
    "mxnet",
    "mxnet.gluon.rnn",
    {
        "RNN": "torch.nn.RNN",
        "LSTM": "torch.nn.LSTM",
        "RNNCell": "torch.nn.RNNCell",
        "LSTMCell": "torch.nn.LSTMCell",
    },
)
