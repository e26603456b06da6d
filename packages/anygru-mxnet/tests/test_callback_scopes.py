"""A user's functions are called within the scopes that MXNet 1.9.1 opens around them (recorded by `callback_scopes.py`)."""

import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
RECORDED = json.loads((HERE / "data" / "callback_scopes.json").read_text())


@pytest.fixture(scope="module")
def found():
    command = "import sys; from anygru.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", command, "run", str(HERE / "callback_scopes.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("callback", RECORDED)
def test_a_callback_sees_mxnets_scopes(callback, found):
    assert found[callback] == RECORDED[callback]
