"""Set up a worker of `anygru launch` before its script runs. An uncaught exception is kept as by torch's `@record`.

This file uses the standard library alone: the start-up file of `anygru run` loads it by its path.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import traceback
from types import TracebackType

LAUNCHER = "ANYGRU_LAUNCHER"  # the launcher's process id: children of the workers inherit the variables, not the role
LOGS = "ANYGRU_WORKER_LOGS"  # a folder: each worker writes its output to `workerlog.<local rank>` in it
# torch's texts for a connection that another process has broken or does not answer.
_BROKEN = (
    "connection closed by peer", "connection reset by peer", "timed out waiting", "socket timeout", "broken pipe",
)  # fmt: skip


def install() -> None:
    """Set up the worker, if the launcher itself started this process."""
    launcher = os.getppid()
    if os.environ.get(LAUNCHER) != str(launcher):
        return
    threading.Thread(target=_end_with, args=(launcher,), daemon=True).start()
    if os.environ.get(LOGS):
        local = os.environ["LOCAL_RANK"]
        _write_to(os.path.join(os.environ[LOGS], f"workerlog.{local}"), is_shown=local == "0")
    if os.environ.get("TORCHELASTIC_ERROR_FILE"):
        sys.excepthook = _show_and_keep


def _end_with(launcher: int) -> None:
    """End this process when the launcher has ended, which a signal may have killed."""
    while os.getppid() == launcher:
        time.sleep(1)
    os._exit(1)


def _write_to(path: str, is_shown: bool) -> None:
    """Append standard output and standard error to a file, and write them to the launcher's output as well if `is_shown`."""
    if is_shown and shutil.which("tee"):
        with subprocess.Popen(["tee", "-i", "-a", path], stdin=subprocess.PIPE).stdin as pipe:  # type: ignore[union-attr]
            log = os.dup(pipe.fileno())
    else:
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _show_and_keep(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an uncaught exception and write it to torchrun's error file."""
    sys.__excepthook__(kind, error, trace)
    if any(sign in str(error).lower() for sign in _BROKEN):
        time.sleep(
            5
        )  # the launcher reports the worker that ends first, which broke the connection, and ends this process
    shown = "".join(traceback.format_exception(kind, error, trace))
    extra = {"py_callstack": shown, "timestamp": str(int(time.time()))}
    path = os.environ["TORCHELASTIC_ERROR_FILE"]
    with open(f"{path}.new", "w") as file:  # where the disk is full, torch finds no file instead of a part of one
        json.dump({"message": {"message": f"{kind.__name__}: {error}", "extraInfo": extra}}, file)
    os.replace(f"{path}.new", path)
