"""Functions of Variables and arrays."""

from . import _operators
from .activations import *
from .arithmetic import *
from .arrays import *
from .convolutions import *
from .forgetting import *
from .joining import *
from .losses import *
from .normalizations import *
from .products import *
from .recurrent import *
from .reductions import *
from .stochastic import *
from .structured_losses import *
