"""`mx.npx`: MXNet's own operators on the arrays of `mx.np`, and the switch that makes Gluon use these arrays."""

from anygru.extend import refuser

from ..context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from ..ndarray.utils import waitall
from ..random import seed
from ..util import is_np_array, is_np_shape, np_array, np_shape, reset_np, set_np, use_np, use_np_array, use_np_shape
from .files import load, save
from .operators import *

# The operators come from a table; `__getattr__` keeps type checkers from reporting them as missing.
__getattr__ = refuser("mxnet.numpy_extension")
