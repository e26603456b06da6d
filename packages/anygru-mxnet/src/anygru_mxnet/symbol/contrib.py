"""`mx.sym.contrib`: loops, and other functions for recurrent networks."""

from functools import partial

from ..ndarray.contrib import _zipfian
from ..ndarray.updates import scaled
from .control_flow import cond as cond
from .control_flow import foreach as foreach
from .control_flow import while_loop as while_loop
from .register import FUNCTIONS

globals().update(
    {name.removeprefix("_contrib_"): each for name, each in FUNCTIONS.items() if name.startswith("_contrib_")}
)
adamw_update = scaled(FUNCTIONS["_adamw_update"], 4, lambda number: FUNCTIONS["_full"](shape=(1,), value=number))
mp_adamw_update = scaled(FUNCTIONS["_mp_adamw_update"], 5, lambda number: FUNCTIONS["_full"](shape=(1,), value=number))
rand_zipfian = partial(_zipfian, lambda low, high, **kind: FUNCTIONS["_random_uniform"](low=low, high=high, **kind))
