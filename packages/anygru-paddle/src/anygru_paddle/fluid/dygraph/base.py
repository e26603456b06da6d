"""`paddle.fluid.dygraph.base`."""

from ...base.dygraph.base import disable_static as enable_dygraph
from ...base.dygraph.base import enabled as enabled
from ...base.dygraph.base import grad as grad
from ...base.dygraph.base import guard as guard
from ...base.dygraph.base import no_grad as no_grad
from ...base.dygraph.base import no_grad_ as no_grad_
from ...base.dygraph.base import to_variable as to_variable

__all__ = [
    "BackwardStrategy", "enable_dygraph", "enable_imperative", "enabled", "grad", "guard", "no_grad", "no_grad_", "to_variable",
]  # fmt: skip


class BackwardStrategy:
    """How `backward` of Paddle 1.x sums gradients; any order gives the same sums here, and `backward(strategy)` takes it."""

    sort_sum_gradient = False


enable_imperative = enable_dygraph
