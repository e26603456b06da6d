"""`mx.sym.contrib`: what GRU users take from it."""

from functools import partial

from ..ndarray.contrib import _zipfian
from ..ndarray.updates import scaled
from .control_flow import cond as cond
from .control_flow import foreach as foreach
from .control_flow import while_loop as while_loop
from .register import FUNCTIONS

boolean_mask = FUNCTIONS["_contrib_boolean_mask"]
arange_like = FUNCTIONS["_contrib_arange_like"]
div_sqrt_dim = FUNCTIONS["_contrib_div_sqrt_dim"]
quadratic, gradientmultiplier = FUNCTIONS["_contrib_quadratic"], FUNCTIONS["_contrib_gradientmultiplier"]
round_ste, sign_ste, index_copy = (FUNCTIONS[f"_contrib_{_name}"] for _name in ("round_ste", "sign_ste", "index_copy"))
AdaptiveAvgPooling2D = FUNCTIONS["_contrib_AdaptiveAvgPooling2D"]
ctc_loss = CTCLoss = FUNCTIONS["CTCLoss"]
adamw_update = scaled(FUNCTIONS["_adamw_update"], 4, lambda number: FUNCTIONS["_full"](shape=(1,), value=number))
mp_adamw_update = scaled(FUNCTIONS["_mp_adamw_update"], 5, lambda number: FUNCTIONS["_full"](shape=(1,), value=number))
rand_zipfian = partial(_zipfian, lambda low, high, **kind: FUNCTIONS["_random_uniform"](low=low, high=high, **kind))
