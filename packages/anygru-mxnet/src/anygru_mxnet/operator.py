"""`mx.operator`: operators written in Python, which `mx.nd.Custom` calls by name. Follows MXNet 1.9's `mxnet.operator`."""

from .ndarray.custom import CustomOp, CustomOpProp, register

__all__ = ["CustomOp", "CustomOpProp", "register"]
