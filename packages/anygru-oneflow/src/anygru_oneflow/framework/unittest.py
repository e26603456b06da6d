"""OneFlow's additions to Python's `unittest`: tests for certain numbers of machines and devices alone."""

import os
import unittest
from collections.abc import Callable
from functools import partial
from typing import Any

from ..env import get_world_size as world_size

__all__ = [
    "TestCase", "device_num", "has_node_list", "node_list", "node_size", "num_nodes_required", "skip_unless",
    "skip_unless_1n1d", "skip_unless_1n2d", "skip_unless_1n4d", "skip_unless_2n1d", "skip_unless_2n2d",
    "skip_unless_2n4d", "world_size",
]  # fmt: skip


class TestCase(unittest.TestCase):
    """As Python's."""


def has_node_list() -> bool:
    """Whether ONEFLOW_TEST_NODE_LIST is set."""
    return bool(os.environ.get("ONEFLOW_TEST_NODE_LIST"))


def node_list() -> list[str]:
    """The machines' addresses, from ONEFLOW_TEST_NODE_LIST."""
    return os.environ["ONEFLOW_TEST_NODE_LIST"].split(",")


def node_size() -> int:
    """How many machines: ONEFLOW_TEST_NODE_NUM; without it the length of their list, or 1 without a list."""
    return int(os.environ.get("ONEFLOW_TEST_NODE_NUM") or (len(node_list()) if has_node_list() else 1))


def device_num() -> int:
    """How many devices on each: ONEFLOW_TEST_DEVICE_NUM, 1 by default."""
    return int(os.environ.get("ONEFLOW_TEST_DEVICE_NUM") or 1)


def skip_unless(n: int, d: int) -> Callable[[Any], Any]:
    """A decorator of tests, skipped unless the environment has n machines with d devices each."""
    fits = (node_size(), device_num()) == (n, d)
    return unittest.skipUnless(fits, f"only runs when node_size is {n} and device_num is {d}")


def num_nodes_required(num_nodes: int) -> Callable[[Any], Any]:
    """A decorator that returns the test; only OneFlow's own test runner uses the number."""
    return lambda test: test


skip_unless_1n1d = partial(skip_unless, 1, 1)
skip_unless_1n2d = partial(skip_unless, 1, 2)
skip_unless_1n4d = partial(skip_unless, 1, 4)
skip_unless_2n1d = partial(skip_unless, 2, 1)
skip_unless_2n2d = partial(skip_unless, 2, 2)
skip_unless_2n4d = partial(skip_unless, 2, 4)
