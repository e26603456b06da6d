"""`gluon.nn`: the layers that recurrent networks are built with."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from ..block import *
from .activations import *
from .basic_layers import *
from .containers import *
