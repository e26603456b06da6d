"""The contained process as a fork of a process that has its libraries: to start Python takes longer than most files do."""

import importlib
import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from anygru.checkpoints import sandbox

LIBRARIES = ("h5py", "onnx", "onnx.helper", "onnx.numpy_helper", "ml_dtypes")


class Forked:
    """The part of `subprocess.Popen` that `sandbox` uses; the program is `sandbox.serve`."""

    def __init__(self, command: list[str], pass_fds: list[int], env: dict[str, str], **options: Any) -> None:
        (ours_in, theirs_in), (theirs_out, ours_out) = os.pipe(), os.pipe()
        self.returncode: int | None = None
        self._pid = os.fork()
        if not self._pid:
            try:
                os.setsid()
                for number, file in enumerate((ours_in, ours_out, os.open(os.devnull, os.O_WRONLY))):
                    os.dup2(file, number)
                for name in os.listdir("/proc/self/fd"):
                    if int(name) > 2 and int(name) not in pass_fds:
                        try:
                            os.close(int(name))
                        except OSError:  # of the list itself
                            continue
                os.environ.update(env)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
                sandbox.serve()
            finally:
                os._exit(1)
        os.close(ours_in)
        os.close(ours_out)
        self.stdin, self.stdout = os.fdopen(theirs_in, "wb"), os.fdopen(theirs_out, "rb")

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self.returncode

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *unused: object) -> None:
        self.stdin.close()
        self.stdout.close()
        self.wait()


def install() -> None:
    """Let `sandbox` fork this process instead of starting Python."""
    os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
    for name in LIBRARIES:
        importlib.import_module(name)
    pipes = {"PIPE": subprocess.PIPE, "DEVNULL": subprocess.DEVNULL}
    sandbox.subprocess = SimpleNamespace(Popen=Forked, **pipes)  # type: ignore[attr-defined]
