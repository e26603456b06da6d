"""`mx.np`: arrays with NumPy's names and shapes, for recurrent networks of Gluon."""

from numpy import bool_, e, euler_gamma, float16, float32, float64, inf, int8, int32, int64, nan, newaxis, pi, uint8

from anygru.extend import refuser

from . import creation, fallback, functions, linalg, random
from .creation import *
from .fallback import *
from .functions import *
from .multiarray import *

bool = bool_
NAN = NaN = nan
PINF, NINF, PZERO, NZERO = inf, -inf, 0.0, -0.0
# The functions come from a table; `__getattr__` keeps type checkers from reporting them as missing.
__getattr__ = refuser("mxnet.numpy")
