"""`mx.sym.linalg`: products of matrices."""

from .register import FUNCTIONS

gemm2 = FUNCTIONS["_linalg_gemm2"]
