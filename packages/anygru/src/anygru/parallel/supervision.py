"""One verdict for a job that failed: launchers tell one another every second how they are, and agree on the cause.

Torch's elastic agents start, watch and restart the workers. Beside each agent runs a supervisor, a thread of the launcher. It
looks at the heartbeats of its workers, so that one that is stopped is named and ended, and it is connected to the supervisor of
the machine where the job meets. That one collects the causes of all machines, notices machines that stop answering, picks the
cause that came before its consequences, and tells all launchers. Each ends with that verdict's words and exit status.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from .addresses import listening_at, own_address
from .heartbeats import Worker, workers_in

BEAT = 1.0  # seconds between two heartbeats
MISSED = 5.0  # seconds without one after which a worker counts as stopped where something else has failed
TOGETHER = 3.0  # seconds in which the causes of all machines come together
AT_ONCE = 2.0  # seconds after which a launcher that has ended counts as lost
STAYS = 3.0  # seconds at most in which all launchers ask for the verdict
GRACE = 8.0  # seconds in which an agent ends after the verdict
_LINE = 1 << 16  # bytes of a message at most


class Cause(NamedTuple):
    """Why the workers of a machine failed. The least one of a job is its verdict.

    `order` is 0 for a worker that was killed or stopped, 1 for an exception, 2 for a plain exit status, 3 for a machine that
    does not answer and 4 for what follows from the end of another process.
    """

    order: int
    at: float
    text: str
    status: int


@dataclass
class _Machine:
    """What the machine where the job meets knows of a launcher."""

    name: str
    heard: float
    cause: Cause | None = None
    connected: bool = True
    left: bool = False
    told: bool = False
    """It has heard the verdict."""


@dataclass
class Place:
    """Where the launchers of a job find each other, and how many have to be there.

    Attributes:
        host, port: of the store of the job.
        job: its name.
        serves: whether the other launchers report to this one.
        machines: how many machines the job has at least and at most.
        restarts: whether a launcher that has ended may come back.
    """

    host: str
    port: int
    job: str
    serves: bool
    machines: tuple[int, int]
    restarts: bool


@dataclass
class Supervisor:
    """The supervisor of one launcher.

    Attributes:
        folder: where the workers of this machine leave their heartbeats.
        timeout: seconds after which a worker or a machine that does not answer is lost.
        place: None for a job on one machine.
    """

    folder: Path
    timeout: float
    place: Place | None = None
    verdict: Cause | None = None
    stopped: Cause | None = None
    _cause: Cause | None = None
    _machines: dict[str, _Machine] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _done: threading.Event = field(default_factory=threading.Event)
    _agreed: threading.Event = field(default_factory=threading.Event)
    _stopped_in: int = 0
    _failing: bool = False
    _linked: bool = False
    _first: float | None = None

    def start(self) -> None:
        threading.Thread(target=self._watch_workers, daemon=True).start()
        if self.place is not None:
            threading.Thread(target=self._connect, args=(self.place,), daemon=True).start()

    def agree(self, cause: Cause) -> Cause:
        """Tell the others why this machine's workers failed, and return the verdict; takes some seconds at most."""
        with self._lock:
            if self._cause is None or self._cause.order > 0:
                self._cause = self.stopped if self.stopped is not None else cause
        if self.place is None or not self._linked:
            return self.verdict or self._cause
        return self.wait() or self._cause

    def wait(self) -> Cause | None:
        """Return the verdict, when the machine where the job meets has told it; takes some seconds at most."""
        if self._linked:
            self._agreed.wait(TOGETHER + AT_ONCE + 2 * BEAT)
        return self.verdict

    def at_end(self) -> Cause | None:
        """Return the verdict for workers of this machine that have ended well, if something has failed on another."""
        return self.wait() if self._failing else self.verdict

    def signalled(self, number: int) -> Cause | None:
        """Take a signal to this launcher for the cause of the end, unless there is one; None if it ends this launcher alone."""
        if self.place is None or self.place.restarts:
            return None
        ended = f"the launcher on {_own_name(self.place)} was ended by {signal.Signals(number).name}"
        cause = Cause(0, time.time(), ended, 128 + number)
        with self._lock:
            if self.verdict is None:
                self._cause = self._cause or cause
        return cause

    def stop(self) -> None:
        """Tell the others that this launcher has done its work; where the job meets, stay until they have heard the verdict."""
        self._done.set()
        latest = time.monotonic() + STAYS
        while self.verdict is not None and time.monotonic() < latest:
            with self._lock:
                if all(machine.told or not machine.connected for machine in self._machines.values()):
                    return
            time.sleep(BEAT / 20)

    def at_step(self, rank: int) -> str:
        """Return " at step N" for a worker of this machine that has reported its step, otherwise nothing."""
        return next((worker.at_step() for worker in workers_in(self.folder) if worker.rank == rank), "")

    # The workers of this machine

    def _watch_workers(self) -> None:
        while not self._done.wait(BEAT / 2):
            workers = workers_in(self.folder)
            if self.stopped is not None and workers and workers[0].attempt != self._stopped_in:
                self.stopped = None  # all workers have started again
            failing = self._failing or any(worker.has_ended() for worker in workers)
            for worker in workers:
                stopped, age = worker.is_stopped(), worker.age()
                patience = MISSED if failing and stopped else self.timeout
                # A worker that misses heartbeats inside of a long call, without the interpreter's lock, is at work.
                if stopped is not False and age is not None and age > patience and not worker.has_ended():
                    self._end(worker, age)

    def _end(self, worker: Worker, age: float) -> None:
        """End a stopped worker, after saying so: its own end, by our signal, is not the cause."""
        with self._lock:
            if self.stopped is None:
                at = f"rank {worker.rank} (process {worker.pid} on {socket.gethostname()})"
                self.stopped = Cause(0, time.time() - age, f"{at} stopped answering{worker.at_step()}", 1)
                self._stopped_in = worker.attempt
                if self.place is not None and not self.place.restarts:
                    self._cause = self._cause or self.stopped
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)

    # The launchers of the job

    def _connect(self, place: Place) -> None:
        """Find the supervisor of the meeting place by the job's store, and stay in touch with it."""
        from torch.distributed import TCPStore  # type: ignore[attr-defined]

        key = f"anygru/{place.job}/supervisor"
        try:
            store = TCPStore(
                place.host, place.port, is_master=False, timeout=timedelta(minutes=15), wait_for_workers=False
            )
            if place.serves:
                listening = listening_at(own_address(place.host))
                threading.Thread(target=self._serve, args=(listening, place), daemon=True).start()
                threading.Thread(target=self._judge, args=(place,), daemon=True).start()
                store.set(key, "{}:{}".format(*listening.getsockname()[:2]))
            address, _, port = store.get(key).decode().rpartition(":")
        except (RuntimeError, OSError):  # no store, or launchers of torch beside this one: then each speaks for itself
            return
        self._speak(place, address, int(port))

    def _speak(self, place: Place, address: str, port: int) -> None:
        """Tell how this launcher is every second, and hear the verdict."""
        name = _own_name(place)
        heard = time.monotonic()
        while True:
            over = self._done.is_set()
            refused = False
            try:
                with socket.create_connection((address, port), timeout=MISSED) as link:
                    link.settimeout(MISSED)
                    lines = link.makefile("rwb")
                    while True:
                        over = self._done.is_set()
                        cause = self._cause
                        _send(lines, {"name": name, "cause": cause, "left": over, "machines": place.machines})
                        answer = _receive(lines)
                        heard, self._linked = time.monotonic(), True
                        self._failing = answer["failing"]
                        if answer["verdict"] is not None:
                            self._decide(Cause(*answer["verdict"]))
                        if over:
                            return
                        self._done.wait(BEAT)
            except (OSError, ValueError, KeyError, TypeError) as error:
                refused = isinstance(error, ConnectionError)
            if over or self._done.is_set():
                return
            silent = time.monotonic() - heard
            if self._linked and silent > (AT_ONCE if refused and not place.restarts else self.timeout):
                how = "has ended" if refused else "does not answer"
                self._decide(Cause(3, time.time(), f"the launcher at {place.host}, where the job meets, {how}", 1))
                return
            self._done.wait(BEAT)

    def _serve(self, listening: socket.socket, place: Place) -> None:
        while True:
            link, _ = listening.accept()
            threading.Thread(target=self._answer, args=(link, place), daemon=True).start()

    def _answer(self, link: socket.socket, place: Place) -> None:
        """Hear one launcher."""
        machine: _Machine | None = None
        with link, link.makefile("rwb") as lines:
            try:
                while True:
                    told = _receive(lines)
                    cause = None if told["cause"] is None else Cause(*told["cause"])
                    if tuple(told["machines"]) != place.machines:  # they would wait for each other for ever
                        cause = Cause(0, time.time(), _disagreement(told, place), 1)
                    with self._lock:
                        machine = self._machines.setdefault(str(told["name"]), _Machine(str(told["name"]), 0.0))
                        machine.heard, machine.connected = time.monotonic(), True
                        machine.cause, machine.left = cause, bool(told["left"])
                        verdict = self.verdict
                    _send(lines, {"failing": self._first is not None, "verdict": verdict})
                    machine.told = verdict is not None
            except (OSError, ValueError, KeyError, TypeError):
                if machine is not None:
                    machine.connected = False

    def _judge(self, place: Place) -> None:
        """Collect the causes of all machines and decide."""
        while not self._done.wait(BEAT / 4):
            now = time.monotonic()
            with self._lock:
                there = [machine for machine in self._machines.values() if not machine.left]
                causes = [machine.cause for machine in self._machines.values() if machine.cause is not None]
            if causes and self._first is None:
                self._first = now
            lost = [machine for machine in there if self._is_lost(machine, now, place)]
            if lost and len(there) - len(lost) < place.machines[0]:
                how = "does not answer" if lost[0].connected else "has ended"
                causes.append(Cause(3, time.time(), f"the launcher on {lost[0].name} {how}", 1))
                self._first = self._first or now - TOGETHER  # nobody else has to be heard
            waiting = [machine for machine in there if machine.cause is None and machine not in lost]
            if causes and self._first is not None and (not waiting or now - self._first >= TOGETHER):
                self._decide(min(causes))

    def _is_lost(self, machine: _Machine, now: float, place: Place) -> bool:
        ended = not machine.connected and not place.restarts
        return now - machine.heard > (AT_ONCE if ended else self.timeout)

    def _decide(self, verdict: Cause) -> None:
        with self._lock:
            if self.verdict is not None:
                return
            self.verdict = verdict
        self._agreed.set()
        threading.Thread(target=self._end_with_verdict, daemon=True).start()

    def _end_with_verdict(self) -> None:
        """End the agent, which may be waiting for a machine that is gone: by a signal, and then without it."""
        if self._done.wait(BEAT):
            return
        if (
            signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        ):  # before the agent runs it would end this process without words
            os.kill(os.getpid(), signal.SIGTERM)
            if self._done.wait(GRACE):
                return
        if self.verdict is None:
            return
        say(self.verdict)
        for worker in workers_in(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
        os._exit(self.verdict.status)


def _disagreement(told: dict[str, Any], place: Place) -> str:
    said, own = (":".join(map(str, dict.fromkeys(machines))) for machines in (told["machines"], place.machines))
    return f"the launcher on {told['name']} was started with --nnodes {said}, the one where the job meets with {own}"


def _own_name(place: Place) -> str:
    return f"{socket.gethostname()} ({own_address(place.host)}, process {os.getpid()})"


def say(verdict: Cause) -> None:
    """Print the verdict, the last line of a job that failed."""
    print(f"anygru launch: the job failed: {verdict.text}", file=sys.stderr, flush=True)


def _send(lines: Any, message: dict[str, Any]) -> None:
    lines.write(json.dumps(message).encode() + b"\n")
    lines.flush()


def _receive(lines: Any) -> dict[str, Any]:
    """Return the next message. Raises ValueError if it is not a message, ConnectionResetError at the end."""
    line = lines.readline(_LINE)
    if not line:
        raise ConnectionResetError("the other launcher has closed the connection")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message
