"""`paddle.fluid.param_attr`."""

from ..base.param_attr import ParamAttr as ParamAttr

__all__ = ["ParamAttr"]
