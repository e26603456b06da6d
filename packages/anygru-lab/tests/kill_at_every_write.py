"""Kill a training with SIGKILL at one instant of its writing after another, resume it, and print the results.

    python kill_at_every_write.py FOLDER STRIDE ARGUMENT...

Instants are the calls by which files are opened, written, flushed, renamed and removed; a kill in a write leaves half
of it on the disk. From each run only every STRIDE-th instant is tried. For each, a line is printed: the instant, how
the killed process ended, how the resumed one ended, and whether loss.csv came out as that of the undisturbed run.
"""

import os
import signal
import sys
from pathlib import Path

import torch

from anygru.cli import main
from anygru_lab.language_model import report, session  # noqa: F401  imported once, before the forks

CALLS = ("open", "fsync", "chmod", "replace", "unlink", "mkdir")


def kill_at(instant):
    """From now on, count the calls that touch files, and die in that one."""
    passed = 0

    def here():
        nonlocal passed
        passed += 1
        return passed == instant

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def watched(original):
        def call(*args, **kwargs):
            if here():
                die()
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, watched(getattr(os, name)))

    original_fdopen = os.fdopen

    def fdopen(*args, **kwargs):
        file = original_fdopen(*args, **kwargs)
        return HalfWritten(file, here, die)

    os.fdopen = fdopen


class HalfWritten:
    """A file. Its fatal write leaves half of the data."""

    def __init__(self, file, here, die):
        self.file, self.here, self.die = file, here, die

    def write(self, data):
        if self.here():
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            self.die()
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        self.file.__enter__()
        return self

    def __exit__(self, *error):
        return self.file.__exit__(*error)


def in_a_child(arguments, instant=None):
    """Exit status of `anygru ...` in a forked process; -9 if it was killed."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if instant is not None:
            kill_at(instant)
        os._exit(main(arguments))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def try_all(folder, stride, arguments):
    torch.set_num_threads(1)
    torch.optim.AdamW([torch.zeros(1)])  # imports much of torch, once and not in each child
    report.finish = lambda *arguments, xz: None  # draws and prints, which takes far longer than the training
    whole = folder / "whole"
    assert in_a_child([*arguments, "--out", str(whole)]) == 0
    losses = (whole / "loss.csv").read_bytes()
    instant = 1
    while True:
        out = folder / str(instant)
        killed = in_a_child([*arguments, "--out", str(out)], instant)
        # Without --resume: a run killed before its first checkpoint has nothing to resume, and starts again.
        resumed = in_a_child([*arguments, "--out", str(out)])
        same = (out / "loss.csv").read_bytes() == losses
        orphans = len(list(out.glob("*.safetensors"))) - 2 + len(list(out.glob(".*.safetensors.*")))
        print(instant, killed, resumed, same, orphans, flush=True)
        if killed == 0:
            break
        instant += stride


if __name__ == "__main__":
    try_all(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
