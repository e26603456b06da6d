"""`gluon.nn`: the layers that GRU networks are built with."""
# ruff: noqa: F401, F403 (names are gathered here to be taken from here)

from ..block import Block
from ..hybrid import HybridBlock
from ..imported import SymbolBlock
from .activations import *
from .basic_layers import *
