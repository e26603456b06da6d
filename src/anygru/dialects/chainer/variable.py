"""`Variable` and `Parameter`, where Chainer has them."""

from ._parameter import Parameter, _recover_parameter
from ._variable import Variable, _create_variable, as_array, as_variable
from ._variable_node import VariableNode

__all__ = ["Parameter", "Variable", "VariableNode", "as_array", "as_variable"]

# Pickles name this module, as Chainer's do.
for _one in (Parameter, Variable, VariableNode, as_array, as_variable, _create_variable, _recover_parameter):
    _one.__module__ = __name__
