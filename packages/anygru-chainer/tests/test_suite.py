"""The tests that every dialect runs on itself."""

import os
import subprocess
import sys
from pathlib import Path

from anygru.dialects.suite import DialectSuite


class TestDialect(DialectSuite):
    dialect = "chainer"
    floors = Path(__file__).with_name("floors.txt")


def test_a_process_that_has_read_no_entry_points_can_import_the_original_name():
    program = "from anygru import dialects; dialects.install(); import chainer.functions; print(chainer.__file__)"
    environment = {name: value for name, value in os.environ.items() if name != "ANYGRU_DIALECTS"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "anygru_chainer" in done.stdout, done.stderr[-2000:]
