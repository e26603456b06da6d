"""Set up a worker of `anygru.parallel.launch` before its script runs: its traceback is kept for the launcher.

This file stands alone, on the standard library: the start-up file of `anygru run` loads it by its path. The launcher
finds the traceback in torchrun's error file and shows it with the rank; else torchrun knows an exit status only.
"""

import contextlib
import json
import os
import sys
import threading
import time
import traceback
from types import TracebackType

LAUNCHER = "ANYGRU_LAUNCHER"  # the launcher's process id: children of the workers inherit the variables, not the role
BEATS = (
    "ANYGRU_HEARTBEATS"  # a folder: each worker touches a file in it every second, so that the launcher sees it alive
)
STEP = ".step"  # the ending of a file beside the heartbeat, with the step that the worker has reported
LOGS = "ANYGRU_WORKER_LOGS"  # a folder: each worker writes its output to `workerlog.<local rank>` in it


def install() -> None:
    """Set up the worker, if the launcher itself started this process."""
    launcher = os.getppid()
    if os.environ.get(LAUNCHER) != str(launcher):
        return
    threading.Thread(target=_live_with, args=(launcher, _first_beat()), daemon=True).start()
    if os.environ.get(LOGS):
        _write_to(os.path.join(os.environ[LOGS], f"workerlog.{os.environ['LOCAL_RANK']}"))
    if os.environ.get("TORCHELASTIC_ERROR_FILE"):
        sys.excepthook = _show_and_keep


def _first_beat() -> str | None:
    """Tell the launcher this process by its rank; return the file to touch."""
    folder, local, rank = (os.environ.get(name) for name in (BEATS, "LOCAL_RANK", "RANK"))
    if not (folder and local and rank and os.path.isdir(folder)):
        return None
    with contextlib.suppress(OSError):
        os.remove(os.path.join(folder, local + STEP))  # of the attempt before
    path = os.path.join(folder, f"{local}.beat")
    with open(path, "w") as file:
        json.dump([int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")), int(rank), os.getpid()], file)
    return path


def _live_with(launcher: int, beat: str | None) -> None:
    """Touch the heartbeat, and end this process when the launcher has, which could be killed without telling anybody."""
    while os.getppid() == launcher:
        if beat is not None:
            with contextlib.suppress(OSError):  # the launcher is taking its folder away
                os.utime(beat)
        time.sleep(1)
    os._exit(1)


def _write_to(path: str) -> None:
    """Send standard output and standard error to the end of a file."""
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _silent_peers(error: BaseException) -> str:
    """Return which processes of the job do not answer, if that may be the cause and the script uses anygru.parallel."""
    peers = sys.modules.get("anygru.parallel.peers")
    return peers.explain(error) if peers is not None else ""


def _keep(text: str, path: str) -> None:
    """Write the file whole or, where the disk is full, not at all: the launcher could not read a part of it."""
    try:
        with open(f"{path}.new", "w") as file:
            file.write(text)
        os.replace(f"{path}.new", path)
    except OSError as error:
        print(f"anygru: the launcher will not show this error: {error}", file=sys.stderr)


def _show_and_keep(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    silent = _silent_peers(error)
    shown = "".join(traceback.format_exception(kind, error, trace)) + silent
    now = time.time_ns()
    extra = {"py_callstack": shown, "timestamp": str(now // 10**9)}
    record = {
        "message": {"message": f"{kind.__name__}: {error}", "extraInfo": extra},
        "time_ns": now,
        "follows": silent,
    }
    _keep(json.dumps(record), os.environ["TORCHELASTIC_ERROR_FILE"])
    if silent:
        sys.modules["anygru.parallel.peers"].let_end()
