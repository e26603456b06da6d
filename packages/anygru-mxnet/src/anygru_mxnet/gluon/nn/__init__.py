"""`gluon.nn`: the layers that recurrent networks are built with."""

from ..block import *
from .activations import *
from .basic_layers import *
from .containers import *
from .conv_layers import *
from .normalization import *
