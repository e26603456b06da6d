"""Collectives on local tensors."""

from .comm_ops import *
