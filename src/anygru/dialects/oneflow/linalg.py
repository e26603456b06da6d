"""Norms and inverses: torch's."""

from torch import cross as cross
from torch import diagonal as diagonal
from torch.linalg import inv as inv
from torch.linalg import matrix_norm as matrix_norm
from torch.linalg import norm as norm
from torch.linalg import vector_norm as vector_norm
