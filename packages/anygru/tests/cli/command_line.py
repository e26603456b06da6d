"""The command line as a process."""

import os
import subprocess
import sys

TINY = ["--hidden", "8", "--embedding", "4", "--batch", "3", "--bptt", "16", "--threads", "1", "--no-progress"]


def start(*arguments, **options):
    """`python -m anygru ...` as a process with one thread."""
    return subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", "-m", "anygru", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        **options,
    )
