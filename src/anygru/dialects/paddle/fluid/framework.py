"""`paddle.fluid.framework`: parameters, variables and questions about the mode."""

from ..base.framework import EagerParamBase as EagerParamBase
from ..base.framework import Parameter as Parameter
from ..base.framework import cpu_places as cpu_places
from ..base.framework import cuda_places as cuda_places
from ..base.framework import in_dygraph_mode as in_dygraph_mode
from ..tensor.tensor import Tensor as Variable

ParamBase = EagerParamBase  # its name until Paddle 2.3

__all__ = ["Variable", "cpu_places", "cuda_places", "in_dygraph_mode"]
