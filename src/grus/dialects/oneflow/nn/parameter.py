"""`oneflow.nn.Parameter`."""

from grus.dialects.oneflow.framework.tensor import Parameter as Parameter
