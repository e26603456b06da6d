"""`Residual`: a sequence of modules that adds its input to its output."""

from typing import Any

from torch import Tensor, nn


class Residual(nn.Sequential):
    """`x + modules(x)`, as models of guitar amplifiers have it; trained as any module, and known to `anygru.export_c`.

    A GRU returns a pair; the next module gets the outputs. In an `nn.Sequential` the same holds in `export_c`,
    but not when torch calls it.

    Example:
        >>> model = Residual(anygru.GRU(1, 16), torch.nn.Linear(16, 1))
        >>> model(torch.zeros(100, 8, 1)).shape
        torch.Size([100, 8, 1])
    """

    adds_input = True
    """For `save_checkpoint`: RTNeural's and GuitarML's files hold that the input is added."""

    def forward(self, input: Tensor) -> Tensor:
        found: Any = input
        for module in self:
            found = module(found)
            found = found[0] if isinstance(found, tuple) else found
        result: Tensor = input + found
        return result
