"""Measure the websocket service of examples/serving with 1,000 clients: delays beside saves, and states after kills.

    python benchmarks/serving_target.py --write     (Linux, two cores: the service runs on core 0, the clients on core 1)

First, clients step a GRU(64, 128) at several rates while the service saves every state once a second. As root, this part has
real-time priority on both sides, so that other work on the machine does not count. Then the service is killed with SIGKILL at
random times and starts again; the clients continue with their tokens. Each answer is compared bit for bit with a sequence
without an interruption. A state is lost if a session begins behind the state that the database has after the kill, or behind an
earlier beginning.
"""

import argparse
import contextlib
import heapq
import json
import os
import random
import selectors
import signal
import socket
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from side_by_side.report import machine

import anygru

INPUT, HIDDEN, BANK = 64, 128, 997
HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "serving.md"
SAVE_EVERY = 1.0
"""Seconds between saves."""
STEPS = 24
"""Where the bytes of a state have the number of steps."""


class Service:
    """A process of the service on core 0."""

    def __init__(self, folder: str, save_every: float) -> None:
        Path(folder, "states.sqlite").unlink(missing_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        script = HERE.parent / "examples/serving/serve.py"
        options = ["model.safetensors", "--port", self.port, "--save-every", save_every]
        self.command = [sys.executable, "-W", "ignore", script, *options]
        self.folder = folder
        self.start()

    def start(self) -> None:
        command = ["taskset", "-c", "0", *map(str, self.command)]
        self.process = subprocess.Popen(command, cwd=self.folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise
                time.sleep(0.02)

    def kill(self) -> float:
        """End it with SIGKILL; return the time."""
        self.process.send_signal(signal.SIGKILL)
        now = time.monotonic()
        self.process.wait()
        return now

    def check(self) -> None:
        """Raise if a save failed."""
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=30).close()

    def saved(self) -> dict[str, int]:
        """The steps of each state in the database, by token."""
        with contextlib.closing(sqlite3.connect(Path(self.folder, "states.sqlite"))) as database:
            rows = database.execute("SELECT token, state FROM states").fetchall()
        return {token: struct.unpack_from("<Q", state, STEPS)[0] for token, state in rows}

    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """A session over a plain socket: frames are made once, with a mask of zeros, so that a client costs little."""

    def __init__(self, number: int, frames: Sequence[bytes]) -> None:
        self.number, self.frames = number, frames
        self.phase = random.random()
        """When it steps within the time from one step to the next: clients are independent."""
        self.token, self.done, self.sent = "", 0, 0.0
        self.answered: list[tuple[float, int]] = []
        """For each step the time of its answer and the hash of the bytes; of 0 where the answer was never read."""
        self.killed = 0.0
        """When the service ended its last conversation."""
        self.talks = False
        self.saved = 0
        """Steps of the state that was saved last, as far as it is known."""
        self.wrong = 0
        """Answers to a repeated step with other bits."""

    def connect(self, port: int) -> None:
        self.socket, self.received = socket.create_connection(("127.0.0.1", port), timeout=60), b""
        path = f"/session?token={self.token}" if self.token else "/session"
        key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{upgrade}{key}\r\n".encode())
        self.socket.setblocking(False)
        self.greeted = False

    def send(self, now: float) -> None:
        self.sent = now
        self.socket.sendall(self.frames[(self.number + self.done) % BANK])

    def read(self) -> list[bytes | str]:
        """The messages that came.

        Raises:
            ConnectionError: the service closed the connection.
        """
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"client {self.number} was disconnected")
        self.received += data
        found: list[bytes | str] = []
        if not self.greeted:
            head, end, rest = self.received.partition(b"\r\n\r\n")
            if not end:
                return []
            if b" 101 " not in head:
                raise ConnectionError(head.decode())
            self.received, self.greeted = rest, True
        while len(self.received) >= 2:
            size, start = self.received[1], 2
            if size == 126:
                size, start = int.from_bytes(self.received[2:4], "big"), 4
            if len(self.received) < start + size:
                break
            kind, body = self.received[0] & 15, self.received[start : start + size]
            self.received = self.received[start + size :]
            if kind == 9:  # a ping
                self.socket.sendall(bytes([0x8A, 0x80 | len(body)]) + bytes(4) + body)
            elif kind == 8:
                raise ConnectionError(f"client {self.number}: {body!r}")
            else:
                found.append(body.decode() if kind == 1 else body)
        return found

    def keep(self, body: bytes, now: float) -> None:
        """Note an answer; `done` becomes the number in it."""
        (self.done,) = struct.unpack_from("<Q", body)
        bits = hash(body[8:])
        while len(self.answered) < self.done:
            self.answered.append((now, 0))
        known = self.answered[self.done - 1][1]
        self.wrong += known not in (0, bits)
        self.answered[self.done - 1] = now, bits


class Clients:
    """All clients, in one thread."""

    def __init__(self, number: int) -> None:
        steps = np.random.default_rng(0).standard_normal((BANK, INPUT)).astype("<f4")
        self.steps = torch.from_numpy(steps)
        head = bytes([0x82, 0xFE]) + struct.pack(">H", 4 * INPUT) + bytes(4)
        frames = [head + step.tobytes() for step in steps]
        self.each = [Client(place, frames) for place in range(number)]
        self.due: list[tuple[float, int]] = []
        """When a client sends its next step, with its number; in the order of a heap."""
        self.oldest = 0.0
        """Seconds from the answer of the oldest step that a kill has lost to the kill."""
        self.repeated = self.lost = 0

    def connect(self, port: int) -> selectors.BaseSelector:
        found, self.due = selectors.DefaultSelector(), []
        for client in self.each:
            client.connect(port)
            found.register(client.socket, selectors.EVENT_READ, client)
        return found

    def converse(self, selector: selectors.BaseSelector, rate: float, until: float) -> list[float]:
        """Step each client `rate` times a second until a time; return the seconds of each step."""
        due, delays = self.due, []
        while (now := time.monotonic()) < until:
            wait = min(due[0][0] - now if due else 0.1, until - now)
            for key, _ in selector.select(max(0.0, wait)):
                client: Client = key.data
                for body in client.read():
                    now = time.monotonic()
                    if isinstance(body, str):
                        self.greet(client, json.loads(body))
                    else:
                        client.keep(body, now)
                        delays.append(now - client.sent)
                    heapq.heappush(due, (now + (client.phase - now * rate) % 1.0 / rate, client.number))
            now = time.monotonic()
            while due and due[0][0] <= now:
                self.each[heapq.heappop(due)[1]].send(time.monotonic())
        return delays

    def greet(self, client: Client, greeting: dict[str, object]) -> None:
        client.token, steps = str(greeting["session"]), int(str(greeting["steps"]))
        if steps < client.done:
            self.repeated += client.done - steps
            self.oldest = max(self.oldest, client.killed - client.answered[steps][0])
        self.lost += steps < client.saved
        client.done, client.saved, client.talks = steps, steps, True

    def disconnect(self, selector: selectors.BaseSelector) -> None:
        selector.close()
        for client in self.each:
            client.socket.close()

    def wrong(self, model: anygru.GRU) -> tuple[int, int]:
        """The answers that differ from sequences without an interruption, and the number of answers compared."""
        stream, count, wrong = model.stream(batch_size=len(self.each)), 0, sum(each.wrong for each in self.each)
        for step in range(max(len(each.answered) for each in self.each)):
            x = self.steps[[(each.number + step) % BANK for each in self.each]]
            for client, row in zip(self.each, stream.step(x).numpy(), strict=True):
                bits = client.answered[step][1] if step < len(client.answered) else 0
                count += bits != 0
                wrong += bits not in (0, hash(row.tobytes()))
        return wrong, count


def delays(folder: str, number: int, rate: float, seconds: float) -> str:
    """A row of the table: rate, processor time, delays of the steps."""
    service, clients = Service(folder, SAVE_EVERY), Clients(number)
    selector = clients.connect(service.port)
    try:
        clients.converse(selector, rate, time.monotonic() + 4)  # all are greeted, and all have stepped
        before, own, begin = service.processor_time(), time.process_time(), time.monotonic()
        count = sum(each.done for each in clients.each)
        found = clients.converse(selector, rate, begin + seconds)
        length = time.monotonic() - begin
        count = sum(each.done for each in clients.each) - count
        shares = [(service.processor_time() - before) / length, (time.process_time() - own) / length]
        service.check()
    finally:
        clients.disconnect(selector)
        service.kill()
    cuts = statistics.quantiles(found, n=1000)
    words = [f"{rate:g}", f"{count / length:,.0f}", *(f"{100 * share:.0f} %" for share in shares)]
    return " | ".join(words + [f"{1e3 * each:.1f}" for each in (cuts[499], cuts[989], cuts[998], max(found))])


def kills(folder: str, number: int, rate: float, count: int) -> str:
    """Kill the service at random times, and return a sentence about the clients."""
    chance, service, clients = random.Random(0), Service(folder, SAVE_EVERY), Clients(number)
    for place in range(count + 1):
        selector = clients.connect(service.port)
        clients.converse(selector, rate, time.monotonic() + chance.uniform(0.5, 3.5))
        if place == count:
            clients.converse(selector, rate, time.monotonic() + 5.0)
            service.check()
        killed = service.kill()
        clients.disconnect(selector)
        for client in clients.each:
            client.killed, client.talks = (killed if client.talks else client.killed), False
        saved = service.saved()
        for client in clients.each:
            client.saved = max(client.saved, saved.get(client.token, 0))
        if place < count:
            service.start()
    model = anygru.load_checkpoint(f"{folder}/model.safetensors").gru()
    assert isinstance(model, anygru.GRU)
    wrong, compared = clients.wrong(model)
    return (
        f"{count} kills, {number:,} clients with {rate:g} step(s) a second each: {clients.lost} states lost, {wrong} wrong of "
        f"{compared:,} answers. {clients.repeated:,} steps were sent again; the oldest had been answered "
        f"{clients.oldest:.2f} s before the kill."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--rates", type=float, nargs="*", default=[1.0, 3.0, 5.0], help="steps a second of each client")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a measurement")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="store the results")
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    torch.set_num_threads(1)
    facts = machine()
    priority = ", and real-time priority while delays are measured" * (os.geteuid() == 0)
    load = os.getloadavg()[0]
    lines = [
        "| steps a second of each | of all | core of the service | core of the clients | median, ms | 99 % | 99.9 % | most |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        anygru.save_checkpoint(anygru.GRU(INPUT, HIDDEN), f"{folder}/model.safetensors")
        if os.geteuid() == 0:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        for rate in options.rates:
            lines.append(f"| {delays(folder, options.clients, rate, options.seconds)} |")
            print(lines[-1], flush=True)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        found = kills(folder, options.clients, 1.0, options.kills)
        print(found)
    text = f"""# The websocket service with {options.clients:,} clients

By `benchmarks/serving_target.py`: GRU({INPUT}, {HIDDEN}), the service on one core and the clients on another,
every state saved each second. {facts["cpu"]} ({facts["instruction set"]}), two virtual cores, torch {facts["torch"]}, Python
{facts["python"]}; load of the machine before the start: {load:.1f}{priority}. A delay lasts from the call that sends a step
to the end of the call that reads its answer.

"""
    if options.write:
        RESULTS.write_text(text + "\n".join(lines) + f"\n\n{found}\n")


if __name__ == "__main__":
    main()
