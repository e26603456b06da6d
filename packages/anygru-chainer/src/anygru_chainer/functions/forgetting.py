"""`forget`: a function without a stored graph, which is computed again for its gradient."""

from collections.abc import Callable
from typing import Any

from .._backprop import backprop_to_all
from ..configuration import config, using_config
from ..function import force_backprop_mode, no_backprop_mode
from ..function_node import FunctionNode
from ..types import VariableLike
from ..variable import Variable

__all__ = ["Forget", "forget"]


def _call(function: Callable[..., Any], inputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
    outputs = function(*inputs)
    for i, output in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        if not isinstance(output, Variable):
            if not isinstance(outputs, tuple):
                raise RuntimeError(f"A tuple of Variables or a Variable are expected, but {type(output)} is returned.")
            n = i + 1
            ending = {1: "st", 2: "nd", 3: "rd"}.get(n if n < 20 else n % 10, "th")
            raise RuntimeError(f"{n}{ending} element of a returned tuple is not Variable, but is {type(output)}")
    return outputs if isinstance(outputs, tuple) else (outputs,)


class Forget(FunctionNode):
    """The node of `forget`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        if not callable(func):
            raise TypeError("func must be callable")
        self.func = func

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(tuple(range(len(inputs))))
        with no_backprop_mode(), using_config("_will_recompute", True):
            return tuple([output.array for output in _call(self.func, tuple(map(Variable, inputs)))])

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if config.enable_backprop:
            raise RuntimeError("double backpropagation in functions.forget is not allowed.")
        inputs = tuple([Variable(kept.array) for kept in self.get_retained_inputs()])
        with force_backprop_mode(), using_config("in_recomputing", True):
            outputs = _call(self.func, inputs)
        pairs = [(y.node, gy) for y, gy in zip(outputs, grad_outputs, strict=True) if gy is not None]
        # This walk ends at the copies made above; the outer walk continues from their gradients.
        backprop_to_all(Variable, pairs, False, None)
        return tuple([inputs[i].grad_var for i in target_input_indexes])


def forget(func: Callable[..., Any], *xs: VariableLike) -> Any:
    """`func(*xs)` without its graph, which is made a second time in backward: less memory, more time.

    Args:
        func: takes Variables and returns one or a tuple of them. A link that counts its calls can ask
            `chainer.config.in_recomputing` whether this is the second one.
    """
    outputs = Forget(func).apply(tuple([x if isinstance(x, Variable) else Variable(x, requires_grad=True) for x in xs]))
    return outputs[0] if len(outputs) == 1 else outputs
