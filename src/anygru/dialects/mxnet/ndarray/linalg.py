"""`mx.nd.linalg`: products of matrices; torch.linalg has the rest."""

from .register import FUNCTIONS

gemm2 = FUNCTIONS["_linalg_gemm2"]
