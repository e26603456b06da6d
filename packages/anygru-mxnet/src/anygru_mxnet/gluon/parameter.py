"""`mxnet.gluon.parameter`: the parameters."""
# ruff: noqa: F403 (this module re-exports names)

from .blocks.constant import *
from .blocks.parameter import *
from .blocks.parameter_dict import *
