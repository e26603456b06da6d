"""Dynamic graphs: gradients on and off, arrays as tensors."""

from .base import *
from .base import enable_dygraph as enable_dygraph
from .base import enabled as enabled
from .base import guard as guard
from .base import no_grad_ as no_grad_
from .base import to_variable as to_variable
