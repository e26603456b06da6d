"""`paddle.autograd`."""

from ..base.dygraph.base import enable_grad as enable_grad
from ..base.dygraph.base import grad as grad
from ..base.dygraph.base import is_grad_enabled as is_grad_enabled
from ..base.dygraph.base import no_grad as no_grad
from ..base.dygraph.base import set_grad_enabled as set_grad_enabled
from ..tensor.gradients import backward as backward
from .py_layer import PyLayer as PyLayer
from .py_layer import PyLayerContext as PyLayerContext
from .saved_tensors import saved_tensors_hooks as saved_tensors_hooks
