"""`mx.sym.linalg`: products of matrices."""

from anygru.dialects import refuser

from .register import FUNCTIONS

gemm2 = FUNCTIONS["_linalg_gemm2"]

__getattr__ = refuser("mxnet", "mxnet.symbol.linalg", {})
