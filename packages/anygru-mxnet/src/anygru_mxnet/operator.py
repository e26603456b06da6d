"""`mx.operator`: operators written in Python, which `mx.nd.Custom` calls by name. The counterpart of `mxnet.operator` in MXNet 1.9."""

from .ndarray.custom import CustomOp, CustomOpProp, register

__all__ = ["CustomOp", "CustomOpProp", "register"]
