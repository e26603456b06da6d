"""`paddle.utils`."""

from . import dlpack as dlpack
from . import unique_name as unique_name
from .general import *
from .layers_utils import *
