"""`paddle.fluid.core`: the places and types of `paddle.base.core`."""

from ..base.core import CPUPlace as CPUPlace
from ..base.core import CUDAPinnedPlace as CUDAPinnedPlace
from ..base.core import CUDAPlace as CUDAPlace
from ..base.core import EnforceNotMet as EnforceNotMet
from ..base.core import Place as Place
from ..base.core import VarDesc as VarDesc
from ..base.core import get_cuda_device_count as get_cuda_device_count
from ..base.core import is_compiled_with_cuda as is_compiled_with_cuda
from ..base.core import is_compiled_with_npu as is_compiled_with_npu
from ..base.core import is_compiled_with_rocm as is_compiled_with_rocm
from ..base.core import is_compiled_with_xpu as is_compiled_with_xpu

__all__ = ["CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "is_compiled_with_cuda"]
