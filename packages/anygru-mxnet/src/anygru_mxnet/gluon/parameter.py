"""`mxnet.gluon.parameter`: the parameters."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .blocks.constant import *
from .blocks.parameter import *
from .blocks.parameter_dict import *
