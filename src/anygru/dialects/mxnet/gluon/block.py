"""`mxnet.gluon.block`: the blocks."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .blocks.base import *
from .blocks.hybrid import *
from .blocks.imported import *
