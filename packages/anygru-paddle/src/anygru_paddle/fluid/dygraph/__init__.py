"""`paddle.fluid.dygraph`."""

from ...jit.api import to_static as declarative
from . import base as base
from . import checkpoint as checkpoint
from . import container as container
from . import layers as layers
from . import learning_rate_scheduler as learning_rate_scheduler
from . import nn as nn
from . import parallel as parallel
from . import rnn as rnn
from .base import BackwardStrategy as BackwardStrategy
from .base import enable_dygraph as enable_dygraph
from .base import enabled as enabled
from .base import grad as grad
from .base import guard as guard
from .base import no_grad as no_grad
from .base import to_variable as to_variable
from .checkpoint import load_dygraph as load_dygraph
from .checkpoint import save_dygraph as save_dygraph
from .container import LayerList as LayerList
from .container import ParameterList as ParameterList
from .container import Sequential as Sequential
from .layers import Layer as Layer
from .learning_rate_scheduler import *
from .nn import *
from .parallel import *
from .rnn import GRUCell as GRUCell
from .rnn import LSTMCell as LSTMCell
