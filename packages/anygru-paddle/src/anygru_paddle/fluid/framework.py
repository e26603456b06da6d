"""`paddle.fluid.framework`: parameters, variables, the default programs, and questions about mode and version."""

from ..base.flags import get_flags as get_flags
from ..base.flags import set_flags as set_flags
from ..base.framework import EagerParamBase as EagerParamBase
from ..base.framework import Parameter as Parameter
from ..base.framework import _dygraph_tracer as _dygraph_tracer
from ..base.framework import cpu_places as cpu_places
from ..base.framework import cuda_places as cuda_places
from ..base.framework import in_dygraph_mode as in_dygraph_mode
from ..framework.random import seed
from ..static.program import Program
from ..tensor.tensor import Tensor as Variable
from ..utils.general import require_version as require_version

ParamBase = EagerParamBase  # its name until Paddle 2.3

__all__ = [
    "Variable", "cpu_places", "cuda_places", "default_main_program", "default_startup_program", "get_flags",
    "in_dygraph_mode", "require_version", "set_flags",
]  # fmt: skip


class _Seeding(Program):
    """In Paddle 1.x the seed of a default program also seeds the draws of a dynamic graph."""

    def __setattr__(self, name: str, value: int) -> None:
        object.__setattr__(self, name, value)
        if name == "random_seed":
            seed(value)


_main, _startup = _Seeding(), _Seeding()


def default_main_program() -> Program:
    """The program with the `random_seed` that scripts set: it seeds all draws, as `paddle.seed` does."""
    return _main


def default_startup_program() -> Program:
    """The program with the `random_seed` that scripts set for initial values: the same program."""
    return _startup
