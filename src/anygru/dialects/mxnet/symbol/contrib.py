"""`mx.sym.contrib`: what GRU users take from it."""

from .base import python_only
from .register import FUNCTIONS

boolean_mask = FUNCTIONS["_contrib_boolean_mask"]
arange_like = FUNCTIONS["_contrib_arange_like"]
div_sqrt_dim = FUNCTIONS["_contrib_div_sqrt_dim"]
ctc_loss = CTCLoss = FUNCTIONS["CTCLoss"]


foreach, while_loop, cond = map(python_only, ("contrib.foreach", "contrib.while_loop", "contrib.cond"))
