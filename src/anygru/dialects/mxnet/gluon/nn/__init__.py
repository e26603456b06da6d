"""`gluon.nn`: the layers that GRU networks are built with."""
# ruff: noqa: F401, F403 (names are gathered here to be taken from here)

from anygru.dialects import refuser

from ..block import Block
from ..hybrid import HybridBlock
from ..imported import SymbolBlock
from .activations import *
from .basic_layers import *

__getattr__ = refuser(
    "mxnet",
    "mxnet.gluon.nn",
    {
        "Conv1D": "torch.nn.Conv1d",
        "Conv2D": "torch.nn.Conv2d",
        "MaxPool1D": "torch.nn.MaxPool1d",
        "MaxPool2D": "torch.nn.MaxPool2d",
        "AvgPool1D": "torch.nn.AvgPool1d",
        "AvgPool2D": "torch.nn.AvgPool2d",
        "GlobalAvgPool1D": "torch.nn.AdaptiveAvgPool1d",
        "GlobalMaxPool1D": "torch.nn.AdaptiveMaxPool1d",
        "GroupNorm": "torch.nn.GroupNorm",
    },
)
