"""`paddle.fluid`: the names that dynamic-graph scripts of Paddle 1.x and 2.0 import from it."""

from . import clip as clip
from . import core as core
from . import dygraph as dygraph
from . import framework as framework
from . import initializer as initializer
from . import io as io
from . import layers as layers
from . import metrics as metrics
from . import operators as operators
from . import optimizer as optimizer
from . import param_attr as param_attr
from . import regularizer as regularizer
from . import unique_name as unique_name
from .core import *
from .dygraph.base import *
from .dygraph.checkpoint import *
from .dygraph.layers import *
from .dygraph.nn import *
from .dygraph.parallel import *
from .framework import *
from .param_attr import *
