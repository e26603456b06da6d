"""`oneflow.nn.Parameter`."""

from ..framework.tensor import Parameter as Parameter
