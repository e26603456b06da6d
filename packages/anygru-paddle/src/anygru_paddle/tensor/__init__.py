"""The functions of `paddle.*`, and `Tensor`."""

from .array import *
from .attribute import *
from .creation import *
from .creation import fill_constant as fill_constant
from .inplace import *
from .inplace import INPLACE as _INPLACE
from .linalg import *
from .logic import *
from .manipulation import *
from .math import *
from .matrices import *
from .ops import *
from .ops import sigmoid as sigmoid
from .pairs import *
from .random import *
from .reduction import *
from .search import *
from .selection import *
from .special import *
from .stat import *
from .tensor import Tensor as Tensor

globals().update(_INPLACE)  # also names that `paddle` itself has not
