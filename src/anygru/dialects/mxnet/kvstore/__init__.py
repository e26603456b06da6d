"""`mx.kv`: sums of gradients over devices and processes."""
# ruff: noqa: F403 (names are gathered here to be taken from here)

from .kvstore import *
