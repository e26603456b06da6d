"""`paddle.fluid.dygraph.base`."""

from ...base.dygraph.base import enabled as enabled
from ...base.dygraph.base import grad as grad
from ...base.dygraph.base import guard as guard
from ...base.dygraph.base import no_grad as no_grad
from ...base.dygraph.base import no_grad_ as no_grad_
from ...base.dygraph.base import to_variable as to_variable

__all__ = ["enabled", "grad", "guard", "no_grad", "no_grad_", "to_variable"]
