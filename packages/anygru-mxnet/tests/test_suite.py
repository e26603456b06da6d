"""The tests that every dialect runs on itself."""

from pathlib import Path

from anygru.dialects.suite import DialectSuite


class TestDialect(DialectSuite):
    dialect = "mxnet"
    floors = Path(__file__).with_name("floors.txt")
