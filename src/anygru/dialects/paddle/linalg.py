"""`paddle.linalg`: the matrix functions under one name."""

from .tensor.linalg import cholesky as cholesky
from .tensor.linalg import det as det
from .tensor.linalg import eigh as eigh
from .tensor.linalg import inv as inv
from .tensor.linalg import matrix_power as matrix_power
from .tensor.linalg import norm as norm
from .tensor.linalg import qr as qr
from .tensor.linalg import solve as solve
from .tensor.linalg import svd as svd
