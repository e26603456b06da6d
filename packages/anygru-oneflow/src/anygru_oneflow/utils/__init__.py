"""Helpers."""

from . import checkpoint, data, global_view, tensor
