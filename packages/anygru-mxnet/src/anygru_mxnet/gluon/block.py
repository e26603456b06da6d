"""`mxnet.gluon.block`: the blocks."""
# ruff: noqa: F401, F403 (this module re-exports names)

from ..symbol.nesting import flatten as _flatten
from ..symbol.nesting import take as _regroup
from .blocks.base import *
from .blocks.hybrid import *
from .blocks.imported import *
from .utils import HookHandle
