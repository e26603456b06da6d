"""`paddle.fluid`: what dynamic-graph scripts of Paddle 1.x and 2.0 import from it."""

from __future__ import annotations

from typing import Any

from . import clip as clip
from . import core as core
from . import dygraph as dygraph
from . import framework as framework
from . import initializer as initializer
from . import layers as layers
from . import optimizer as optimizer
from . import param_attr as param_attr
from . import regularizer as regularizer
from . import unique_name as unique_name
from .core import CPUPlace as CPUPlace
from .core import CUDAPinnedPlace as CUDAPinnedPlace
from .core import CUDAPlace as CUDAPlace
from .dygraph import DataParallel as DataParallel
from .dygraph.base import grad as grad
from .dygraph.checkpoint import load_dygraph as load_dygraph
from .dygraph.checkpoint import save_dygraph as save_dygraph
from .framework import Variable as Variable
from .framework import cpu_places as cpu_places
from .framework import cuda_places as cuda_places
from .framework import in_dygraph_mode as in_dygraph_mode
from .param_attr import ParamAttr as ParamAttr


def is_compiled_with_cuda() -> bool:
    """True if torch can use a CUDA device here."""
    return core.is_compiled_with_cuda()


def enable_dygraph(place: Any = None) -> None:
    """Nothing to switch on; `place` becomes the place of new tensors."""
    from ..base.dygraph.base import disable_static

    disable_static(place)


enable_imperative = enable_dygraph


def disable_dygraph() -> None:
    """Static graphs are not covered.

    Raises:
        NotImplementedError: always.
    """
    from ..base.dygraph.base import enable_static

    enable_static()


disable_imperative = disable_dygraph
