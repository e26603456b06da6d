"""Highway layers (Srivastava et al., 2015)."""

from collections.abc import Callable
from typing import Any

from ...functions.activations import relu, sigmoid
from ...link import Chain
from ...types import InitializerSpec, VariableLike
from ...variable import Variable
from .linear import Linear

__all__ = ["Highway"]


class Highway(Chain):
    """`t * activate(plain(x)) + (1 - t) * x` with the gate `t = sigmoid(transform(x))`.

    Args:
        in_out_size: size of an input and an output.
        nobias: leave both biases out.
        activate: a function of one Variable.
        init_Wh, init_bh: initializers of `plain`, LeCunNormal and 0 by default.
        init_Wt, init_bt: those of `transform`, LeCunNormal and -1 by default.
    """

    def __init__(
        self, in_out_size: int, nobias: bool = False, activate: Callable[[Any], Variable] = relu,
        init_Wh: InitializerSpec = None, init_Wt: InitializerSpec = None, init_bh: InitializerSpec = None,
        init_bt: InitializerSpec = -1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.activate = activate
        with self.init_scope():
            self.plain = Linear(in_out_size, in_out_size, nobias, init_Wh, init_bh)
            self.transform = Linear(in_out_size, in_out_size, nobias, init_Wt, init_bt)

    def forward(self, x: VariableLike) -> Variable:
        """[B, N] from x [B, N]."""
        plain, gate = self.activate(self.plain(x)), sigmoid(self.transform(x))
        return plain * gate + x * (1 - gate)
