"""`Variable` and `Parameter`, where Chainer has them."""

from typing import Any

from ._parameter import Parameter, _recover_parameter
from ._variable import Variable, _create_variable
from ._variable_node import VariableNode

__all__ = ["Parameter", "Variable", "VariableNode", "as_array", "as_variable"]


def as_variable(obj: Any) -> Variable:
    """A Variable as it is; an array as a Variable that requires no gradient."""
    return obj if isinstance(obj, Variable) else Variable(obj, requires_grad=False)


def as_array(obj: Any) -> Any:
    """The array of a Variable; an array as it is."""
    return obj.array if isinstance(obj, Variable) else obj


# Pickles name this module, as Chainer's do.
for _one in (Parameter, Variable, VariableNode, _create_variable, _recover_parameter):
    _one.__module__ = __name__
