"""`paddle.linalg`: the matrix functions under one name."""

from .tensor.linalg import cholesky as cholesky
from .tensor.linalg import norm as norm
from .tensor.matrices import *  # noqa: F403
