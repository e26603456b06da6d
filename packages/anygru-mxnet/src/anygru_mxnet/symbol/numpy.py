"""`mx.sym.np`: functions of one array on symbols, with the arithmetic of `mx.np`. Their nodes have MXNet 1.9.1's names."""

from collections.abc import Callable

from torch import Tensor

from ..numpy.functions import ELEMENTS, REDUCTIONS
from ..operators.registry import OPERATORS, operator
from .register import function_of

_OF_NUMPY = ("sum", "prod", "max", "min", "all", "any")  # `_np_sum`; the other names begin with `_npi_` (recorded)
_RENAMED = {"abs": "absolute", "fabs": "absolute", "invert": "bitwise_not"}


def _node(name: str) -> str:
    return f"_np{'' if name in _OF_NUMPY else 'i'}_{_RENAMED.get(name, name)}"


def _of_one(compute: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: compute(x)


_ROWS = {**{name: _of_one(compute) for name, compute in ELEMENTS.items()}, **REDUCTIONS}
for _name in ("deg2rad", "rad2deg"):  # an AttributeError on symbols in MXNet 1.9.1 (recorded)
    del _ROWS[_name]
for _name, _compute in _ROWS.items():
    if _node(_name) not in OPERATORS:
        operator(_node(_name), alike=_name in ELEMENTS)(_compute)
    globals()[_name] = function_of(OPERATORS[_node(_name)], _name)

__all__ = list(_ROWS)
