"""`mx.sym.contrib`: what GRU users take from it."""

from collections.abc import Callable
from typing import Any

from ..._hook.not_covered import not_covered
from .base import Untraceable
from .register import FUNCTIONS

boolean_mask = FUNCTIONS["_contrib_boolean_mask"]
arange_like = FUNCTIONS["_contrib_arange_like"]
div_sqrt_dim = FUNCTIONS["_contrib_div_sqrt_dim"]
ctc_loss = CTCLoss = FUNCTIONS["CTCLoss"]


def _as_python(name: str) -> Callable[..., Any]:
    """A loop that has no graph here: a hybridized block that asks for it runs as Python."""

    def function(*args: Any, **kwargs: Any) -> Any:
        instead = "a hybridized block, which runs it as Python; it cannot be exported"
        raise Untraceable(str(not_covered(f"mxnet.symbol.contrib.{name}", instead)))

    function.__name__ = name
    function.__doc__ = f"`mx.nd.contrib.{name}`, which a hybridized block runs as Python."
    return function


foreach, while_loop, cond = map(_as_python, ("foreach", "while_loop", "cond"))
