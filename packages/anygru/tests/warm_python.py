"""Python processes that begin with torch imported, for tests of programs that would spend their time on the import.

`WarmPythons.python` is a file that takes Python's place in a command: `python script.py`, `python -m module` or
`python -c code`, with `-W` before them. It asks a process that has imported torch for a fork, which takes over the command
line, the folder, the variables and the three standard files; its exit status becomes the caller's, and killing the
caller kills it. Real Python runs where no such process was started with the same variables, and for other options.

A fork is a separate process, but it was not started. Tests of the start itself, of hooks that come before torch, and
of signals or limits for a process take real Python. It needs Linux; elsewhere real Python always runs.
"""

import atexit
import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading

READ_AT_START = ("ANYGRU_", "GOMP_", "KMP_", "LD_", "MKL_", "OMP_", "PYTHON", "TORCH")
"""Python, OpenMP or torch may read variables that begin like this when they start. This file reads ANYGRU_WARM_MODULES:
further modules that a process imports before it forks."""


class WarmPythons:
    """Processes that have imported torch, one for each set of such variables; their sockets are in a folder."""

    def __init__(self, folder):
        self.folder, self.servers = str(folder), {}
        self.python = os.path.join(self.folder, "python")
        with open(self.python, "w") as file:
            file.write(f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {os.path.dirname(__file__)!r})\n")
            file.write(f"import warm_python\nwarm_python.ask({sys.executable!r})\n")
        os.chmod(self.python, 0o755)

    def start(self, environment):
        """Start a process with these variables, if there is none, and give the file that takes Python's place."""
        address = _address(self.folder, environment)
        if hasattr(os, "pidfd_open") and address not in self.servers:
            self.servers[address] = server = subprocess.Popen(
                [sys.executable, __file__, address], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert server.stdout.readline() == b"ready\n"
        return self.python

    def close(self):
        for server in self.servers.values():
            server.communicate()


def _address(folder, environment):
    """The socket of the process that was started with these variables."""
    read = sorted(item for item in environment.items() if item[0].startswith(READ_AT_START) and item[1])
    return os.path.join(folder, hashlib.sha1(repr(read).encode()).hexdigest()[:16])


def ask(python):
    """Ask for a fork, wait for its end, and end like it; the file runs this function."""
    arguments, address = sys.argv[1:], _address(os.path.dirname(sys.argv[0]), os.environ)
    _, rest = _warnings_and_rest(arguments)
    if not os.path.exists(address) or rest[:1] == [] or (rest[0][0] == "-" and rest[0] not in ("-c", "-m")):
        os.execv(python, [python, *arguments])
    request = {"arguments": arguments, "folder": os.getcwd(), "variables": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b" "], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        status = int(connection.recv(16))
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


def _warnings_and_rest(arguments):
    """The values of `-W`, and the remaining arguments."""
    values = []
    while arguments[:1] == ["-W"]:
        values.append(arguments[1])
        arguments = arguments[2:]
    return values, arguments


def serve(address):
    """Answer requests until standard input ends; a fork returns its request."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    print("ready", flush=True)
    forks = {}  # descriptor of a process -> (its number, connection)
    while True:
        connections = [connection for _, connection in forks.values()]
        ready, _, _ = select.select([0, listening, *forks, *connections], [], [])
        if 0 in ready:
            os._exit(0)
        for descriptor in [each for each in ready if each in forks]:
            process, connection = forks.pop(descriptor)
            _, status = os.waitpid(process, 0)
            os.close(descriptor)
            with connection, contextlib.suppress(OSError):
                connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        for process, connection in forks.values():
            if connection in ready:  # the caller has been killed
                os.kill(process, signal.SIGKILL)
        if listening in ready:
            connection, _ = listening.accept()
            _, files, _, _ = socket.recv_fds(connection, 1, 3)
            request = json.loads(connection.makefile("rb").readline())
            process = os.fork()
            if process == 0:
                for number, file in enumerate(files):
                    os.dup2(file, number)
                os.closerange(3, 1024)
                return request
            for file in files:
                os.close(file)
            forks[os.pidfd_open(process)] = process, connection


def run(request):
    """Run a command line in this process, as Python would after its start."""
    import runpy
    import warnings

    import numpy

    numpy.random.seed()  # otherwise it repeats the parent's numbers
    os.environ.clear()
    os.environ.update(request["variables"])
    os.chdir(request["folder"])
    values, (first, *rest) = _warnings_and_rest(request["arguments"])
    sys.warnoptions += values
    warnings._processoptions(values)
    main = sys.modules["__main__"] = type(sys)("__main__")
    main.__builtins__ = __builtins__
    if first == "-m":
        sys.argv[:] = rest
        sys.path[0] = os.getcwd()
        runpy._run_module_as_main(rest[0])
    elif first == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path[0] = ""
        exec(rest[0], main.__dict__)
    else:
        sys.argv[:] = [first, *rest]
        sys.path[0] = os.path.dirname(os.path.abspath(first))
        main.__file__ = first
        with open(first, "rb") as file:
            exec(compile(file.read(), first, "exec"), main.__dict__)


def end(request):
    """Run a command line and end this process without taking torch's modules down, which takes 0.2 s and shows nothing."""
    status = 0
    try:
        run(request)
    except SystemExit as wanted:
        status = 0 if wanted.code is None else wanted.code
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError):  # the program has closed it
            stream.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    import torch  # noqa: F401

    import anygru  # noqa: F401

    for module in os.environ.get("ANYGRU_WARM_MODULES", "").split():
        __import__(module)
    end(serve(sys.argv[1]))
