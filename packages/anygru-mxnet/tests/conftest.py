"""Each test begins with MXNet's first seed and with new names, independent of earlier tests."""

import pytest

import anygru_mxnet as mx


@pytest.fixture(autouse=True)
def seed_and_names():
    """A process has one generator for its CPU contexts, and one counter of the names of symbols."""
    mx.random.seed(0)
    with mx.name.NameManager():
        yield
