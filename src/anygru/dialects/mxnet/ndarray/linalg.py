"""`mx.nd.linalg`: products of matrices; torch.linalg has the rest."""

from anygru.dialects import refuser

from .register import FUNCTIONS

gemm2 = FUNCTIONS["_linalg_gemm2"]

__getattr__ = refuser("mxnet", "mxnet.ndarray.linalg", {"gemm": "torch.baddbmm", "potrf": "torch.linalg.cholesky"})
