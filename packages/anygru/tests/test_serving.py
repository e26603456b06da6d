"""The service of `examples/serving`: every client gets the outputs of the model alone, and states survive a restart."""

import asyncio
import collections
import contextlib
import functools
import importlib.util
import itertools
import json
import os
import random
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import torch

import anygru

for package in ("prometheus_client", "starlette", "uvicorn"):
    pytest.importorskip(package)
websockets = pytest.importorskip("websockets")
SERVICE = Path(__file__).resolve().parents[3] / "examples/serving/serve.py"
WIDTH = 6


@functools.cache  # metrics have names that a process registers once
def example(name):
    """A program of the folder as a module."""
    spec = importlib.util.spec_from_file_location(name, SERVICE.with_stem(name))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Service:
    """A process of the service on a free port."""

    def __init__(self, folder, *options):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-W", "ignore", SERVICE, "model.safetensors", "--port", str(self.port), *options]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        for _ in range(600):
            try:
                if self.get("health") == "ready":
                    return
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None, self.process.stderr.read()
                time.sleep(0.1)
        raise AssertionError("the service never became ready")

    def get(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=30).read().decode()

    def connect(self, token=""):
        query = f"?token={token}" if token else ""
        return websockets.connect(f"ws://127.0.0.1:{self.port}/session{query}", open_timeout=60)

    def end(self, number):
        self.process.send_signal(number)
        self.process.communicate(timeout=60)


@pytest.fixture
def folder(tmp_path):
    anygru.save_checkpoint(anygru.GRU(WIDTH, 9, 2), tmp_path / "model.safetensors")
    return tmp_path


@pytest.fixture
def start(folder):
    started = []

    def call(*options):
        started.append(Service(folder, *options))
        return started[-1]

    yield call
    for service in started:
        if service.process.poll() is None:
            service.end(signal.SIGKILL)


def until(service, status):
    """Wait for a status of /health, and return its text."""
    for _ in range(600):
        try:
            found, text = 200, service.get("health")
        except urllib.error.HTTPError as error:
            found, text = error.code, error.read().decode()
        if found == status:
            return text
        time.sleep(0.1)
    raise AssertionError(f"the status never became {status}")


def saved(folder):
    """The tokens of the saved states."""
    if not (folder / "states.sqlite").exists():
        return set()
    with contextlib.closing(sqlite3.connect(folder / "states.sqlite")) as connection:
        try:
            return {token for (token,) in connection.execute("SELECT token FROM states")}
        except sqlite3.OperationalError:  # the service has not made its table
            return set()


async def is_closed(connection, code):
    """Assert that the service closes the connection with this code."""
    with pytest.raises(websockets.ConnectionClosed) as closed:
        await asyncio.wait_for(connection.recv(), 30)
    assert closed.value.rcvd.code == code


async def talk(connection, steps):
    """The outputs for some steps, and the counters that come with them."""
    found, counts = [], []
    for step in steps:
        await connection.send(step.numpy().tobytes())
        answer = await connection.recv()
        counts.append(struct.unpack_from("<Q", answer)[0])
        found.append(torch.frombuffer(bytearray(answer[8:]), dtype=torch.float32))
    return torch.stack(found), counts


def expected(folder, x):
    layer = anygru.load_checkpoint(folder / "model.safetensors").gru()
    with torch.no_grad():
        return layer(x[:, None])[0][:, 0]


def test_clients_get_the_model_alone_and_go_on_after_a_restart(folder, start):
    x = torch.randn(12, 20, WIDTH)
    service = start()

    async def client(place):
        async with service.connect() as connection:
            hello = json.loads(await connection.recv())
            outputs, counts = await talk(connection, x[place, :12])
        assert counts == list(range(1, 13))
        assert torch.equal(outputs, expected(folder, x[place])[:12])
        return hello["session"]

    async def all_clients():
        return await asyncio.gather(*map(client, range(12)))

    tokens = asyncio.run(all_clients())
    assert "anygru_steps_total 144.0" in service.get("metrics")
    service.end(signal.SIGTERM)
    service = start()

    async def go_on(place):
        async with service.connect(tokens[place]) as connection:
            assert json.loads(await connection.recv()) == {"session": tokens[place], "steps": 12}
            outputs, counts = await talk(connection, x[place, 12:])
        assert counts[-1] == 20
        assert torch.equal(outputs, expected(folder, x[place])[12:])

    asyncio.run(go_on(3))


def test_after_a_kill_the_counter_tells_what_was_lost(folder, start):
    x = torch.randn(9, WIDTH)
    service = start("--save-every", "0.2")

    async def before():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, x[:5])
            while token not in saved(folder):
                await asyncio.sleep(0.1)
            await talk(connection, x[5:])
            service.process.kill()
        return token

    async def after(token):
        async with service.connect(token) as connection:
            steps = json.loads(await connection.recv())["steps"]
            assert 0 <= steps <= 9  # a save may have come between the first steps
            outputs, _ = await talk(connection, x[steps:]) if steps < 9 else (x[:0, :0], [])
        if len(outputs):
            assert torch.equal(outputs, expected(folder, x)[steps:])

    token = asyncio.run(before())
    service.end(signal.SIGKILL)
    service = start()
    asyncio.run(after(token))


def test_rubbish_closes_one_connection_and_the_service_goes_on(start):
    service = start("--sessions", "2", "--idle", "2")

    async def work():
        for rubbish, code in ((b"123", 1003), ("text", 1003), (bytes(1000), 1009)):
            async with service.connect() as connection:
                await connection.recv()
                await connection.send(rubbish)
                await is_closed(connection, code)
        async with service.connect() as one, service.connect() as two, service.connect() as three:
            await one.recv()
            await two.recv()
            await is_closed(three, 1013)
            await is_closed(one, 4000)  # idle

    asyncio.run(work())
    assert service.get("health") == "ready"


def test_a_full_service_keeps_the_states_of_those_it_refuses(start):
    service = start("--sessions", "1")

    async def work():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, torch.randn(3, WIDTH))
        async with service.connect() as other:
            await other.recv()
            async with service.connect(token) as refused:
                await is_closed(refused, 1013)
        while True:
            async with service.connect(token) as connection:
                try:
                    return json.loads(await connection.recv())["steps"]
                except websockets.ConnectionClosed:  # the other one's end has not arrived
                    await asyncio.sleep(0.1)

    assert asyncio.run(work()) == 3


def test_an_old_connection_begins_again_where_it_was(folder, start):
    service = start("--max-age", "1")

    async def work():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, torch.randn(2, WIDTH))
            await is_closed(connection, 1012)
        async with service.connect(token) as connection:
            assert json.loads(await connection.recv()) == {"session": token, "steps": 2}

    asyncio.run(work())
    client, url = example("client"), f"ws://127.0.0.1:{service.port}/session"
    x = torch.randn(30, WIDTH)

    send = websockets.ClientConnection.send
    sent = []

    async def slowly(connection, step):  # so that the connection ends in the middle
        sent.append(connection)
        await asyncio.sleep(0.06)
        await send(connection, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(websockets.ClientConnection, "send", slowly)
        found = asyncio.run(client.answers(url, list(x.numpy())))
    assert len(set(sent)) > 1
    assert torch.equal(torch.from_numpy(np.stack(found)), expected(folder, x))
    with pytest.raises(websockets.ConnectionClosed, match="a step has 24 bytes"):
        asyncio.run(client.answers(url, [np.zeros(3, np.float32)]))
    with pytest.raises(ConnectionError, match="has not answered for 0 s"):
        asyncio.run(client.answers("ws://127.0.0.1:1/session", [], patience=0.0))


def test_an_idle_connection_is_closed_and_goes_on_later(folder, start):
    x = torch.randn(4, WIDTH)
    service = start("--idle", "0.5")

    async def client():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, x[:1])
            await asyncio.sleep(0.1)
            await talk(connection, x[1:3])
            await is_closed(connection, 4000)
        async with service.connect(token) as connection:
            assert json.loads(await connection.recv())["steps"] == 3
            outputs, _ = await talk(connection, x[3:])
        assert torch.equal(outputs, expected(folder, x)[3:])

    asyncio.run(client())
    assert 'anygru_refused_total{code="4000"} 1.0' in service.get("metrics")


def test_a_wide_step_is_not_too_long(tmp_path, start):
    anygru.save_checkpoint(anygru.GRU(64, 9), tmp_path / "model.safetensors")
    service = start()
    x = torch.randn(3, 64)

    async def work():
        async with service.connect() as connection:
            await connection.recv()
            return await talk(connection, x)

    assert torch.equal(asyncio.run(work())[0], expected(tmp_path, x))


def test_states_that_nobody_comes_back_for_are_dropped(tmp_path, monkeypatch):
    module = example("serve")
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    states = module.States(tmp_path / "states.sqlite", 3, 10.0)

    async def kept(put):
        await states.put(put)
        return [token for token in "abcdef" if await states.get(token)]

    assert asyncio.run(kept(dict.fromkeys("abcd", b"1"))) == ["b", "c", "d"]
    now = 6.0
    assert asyncio.run(kept({"b": b"2"})) == ["b", "c", "d"]
    now = 11.0
    assert asyncio.run(kept({"e": b"3"})) == ["b", "e"]
    assert asyncio.run(module.States(tmp_path / "states.sqlite", 3, 10.0).get("b")) == b"2"
    assert (tmp_path / "states.sqlite").stat().st_mode & 0o777 == 0o600
    (tmp_path / "text").write_text("no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError):
        module.States(tmp_path / "text", 3, 10.0)


def test_a_clock_that_jumps_loses_no_state(tmp_path, monkeypatch):
    module = example("serve")
    wall, running = [1e9], [0.0]
    monkeypatch.setattr(module.time, "time", lambda: wall[0])
    monkeypatch.setattr(module.time, "monotonic", lambda: running[0])
    states = module.States(tmp_path / "states.sqlite", 3, 60.0)

    def put(token, jump):
        wall[0] += jump
        running[0] += 1.0
        asyncio.run(states.put({token: b"1"}))
        return [each for each in "abcdef" if asyncio.run(states.get(each))]

    assert put("a", 0.0) == ["a"]
    assert put("b", 1e6) == ["a", "b"]
    assert put("c", -2e6) == ["a", "b", "c"]
    assert put("d", 0.0) == ["b", "c", "d"]  # the newest three
    running[0] = 0.0  # the computer starts again
    states = module.States(tmp_path / "states.sqlite", 3, 60.0)
    assert put("e", 0.0) == ["c", "d", "e"]


def in_this_process(module, folder):
    options = module.arguments("").parse_args([str(folder / "model.safetensors")])
    return module.Service(options, module.States(None, 500, 1e9))


def test_a_save_does_not_write_over_the_newer_state_of_a_session_that_ended_meanwhile(folder):
    module = example("serve")
    service = in_this_process(module, folder)

    async def work():
        for name in map(str, range(50)):
            service.open[name] = module.Connection()
            service.open[name].session = service.pool.open()
            service.open[name].session.step(torch.ones(WIDTH))
        save = asyncio.create_task(service.save())
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the save has the first state
        ended = service.open.pop("0")
        ended.session.step(torch.ones(WIDTH))
        await service.end("0", ended)
        await save
        return service.pool.open(await service.states.get("0")).steps

    assert asyncio.run(work()) == 2


def test_steps_come_between_the_states_of_a_save(folder, monkeypatch):
    """A step takes five turns of the event loop, and packing a state as long as a quarter of a step."""
    module, turns, packed = example("serve"), itertools.count(1), collections.Counter()
    service = in_this_process(module, folder)
    pack = module.state_of
    monkeypatch.setattr(module, "state_of", lambda session: packed.update([turn[0]]) or pack(session))
    turn = [0]

    async def others():
        for turn[0] in turns:
            await asyncio.sleep(0)

    async def work():
        for name in map(str, range(200)):
            service.open[name] = module.Connection()
            service.open[name].session = service.pool.open()
            service.open[name].session.step(torch.ones(WIDTH))
        task = asyncio.create_task(others())
        await service.save()
        task.cancel()
        return [await service.states.get(name) is not None for name in service.open]

    assert all(asyncio.run(work()))
    assert packed.total() == 200
    assert max(packed.values()) <= 20


def test_an_error_outside_of_the_store_is_seen_and_ends_no_later_save(folder, monkeypatch):
    module = example("serve")
    service = in_this_process(module, folder)

    async def work():
        service.open["a"] = module.Connection()
        service.open["a"].session = service.pool.open()
        service.open["a"].session.step(torch.ones(WIDTH))
        with monkeypatch.context() as patch:
            patch.setattr(module, "state_of", lambda session: 1 / 0)
            await service.save()
        failure = service.failure
        await service.save()
        return failure, service.failure, await service.states.get("a")

    failure, after, stored = asyncio.run(work())
    assert "ZeroDivisionError" in failure
    assert after == ""
    assert stored is not None


def test_a_save_that_fails_is_seen_and_tried_again(folder, start):
    """The volume is away for a while; no state is lost when it is back."""
    (folder / "volume").mkdir()
    service = start("--save-every", "0.2", "--states", str(folder / "volume/states.sqlite"))
    (folder / "volume").rename(folder / "away")

    async def work():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, torch.randn(3, WIDTH))
        return token

    token = asyncio.run(work())
    assert "states are not saved" in until(service, 503)
    (folder / "away").rename(folder / "volume")
    assert until(service, 200) == "ready"
    service.end(signal.SIGKILL)
    assert token in saved(folder / "volume")


def test_the_newer_connection_of_a_token_has_the_session(folder, start):
    x = torch.randn(6, WIDTH)
    service = start()

    async def work():
        async with service.connect() as old:
            token = json.loads(await old.recv())["session"]
            await talk(old, x[:4])
            async with service.connect(token) as new:
                assert json.loads(await new.recv())["steps"] == 4
                outputs, _ = await talk(new, x[4:])
                await is_closed(old, 4001)
            async with service.connect(token) as again:
                assert json.loads(await again.recv())["steps"] == 6
        return outputs

    assert torch.equal(asyncio.run(work()), expected(folder, x)[4:])


def test_strangers_push_nothing_out_and_spoil_nothing(folder, start):
    service = start("--keep-most", "3", "--origin", "https://good.example")
    url = f"ws://127.0.0.1:{service.port}/session"

    async def work():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, torch.randn(2, WIDTH))
            await connection.send(struct.pack(f"<{WIDTH}f", *[float("nan")] * WIDTH))
            with pytest.raises(websockets.ConnectionClosed, match="must be finite"):
                await connection.recv()
        for number in range(5):  # connections that send nothing
            async with service.connect(f"x{number}") as connection:
                await connection.recv()
        for wrong in ("a" * 65, "a.b", "a%20b"):
            async with service.connect(wrong) as connection:
                await is_closed(connection, 1008)
        with pytest.raises(websockets.InvalidStatus, match="403"):
            await websockets.connect(url, origin="https://evil.example")
        for origin in ("https://good.example", f"http://127.0.0.1:{service.port}"):
            async with websockets.connect(url, origin=origin) as connection:
                await connection.recv()
        async with service.connect(token) as connection:
            hello = json.loads(await connection.recv())
            await talk(connection, torch.randn(1, WIDTH))
        return hello

    assert asyncio.run(work())["steps"] == 2


def test_a_retrained_model_locks_no_client_out(folder, start):
    x = torch.randn(3, WIDTH)

    async def first():
        async with service.connect() as connection:
            token = json.loads(await connection.recv())["session"]
            await talk(connection, x)
        return token

    async def steps(token):
        async with service.connect(token) as connection:
            return json.loads(await connection.recv())["steps"]

    service = start()
    token = asyncio.run(first())
    service.end(signal.SIGTERM)
    anygru.save_checkpoint(anygru.GRU(WIDTH, 9, 2), folder / "model.safetensors")
    service = start()
    assert asyncio.run(steps(token)) == 0
    service.end(signal.SIGTERM)
    service = start("--retrained")
    assert asyncio.run(steps(token)) == 3


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="reads the memory of a process in /proc")
def test_clients_that_come_and_go_leave_nothing_behind(folder, start):
    """ANYGRU_SOAK_MINUTES (1) of clients that join and leave, a hundredth of them without a close, and come back."""
    service = start("--keep-most", "50")
    layer = anygru.load_checkpoint(folder / "model.safetensors").gru()
    stop = time.monotonic() + 60 * float(os.environ.get("ANYGRU_SOAK_MINUTES", "1"))
    counts = {"steps": 0, "sessions": 0, "back": 0}

    def resident():
        status = Path(f"/proc/{service.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])

    async def client(number):
        draw, token, state = random.Random(number), "", None
        while time.monotonic() < stop:
            connection = await service.connect(token)
            try:
                hello = json.loads(await connection.recv())
            except websockets.ConnectionClosed:  # the service has not seen yet that the last connection broke
                await asyncio.sleep(0.1)
                continue
            if not token or hello["steps"] == 0:
                state = None
            counts["back" if state is not None else "sessions"] += 1
            x = torch.randn(draw.randint(1, 30), WIDTH)
            found, _ = await talk(connection, x)
            with torch.no_grad():
                output, state = layer(x[:, None], state)
            assert torch.equal(found, output[:, 0]), "a session has a state that is not its own"
            counts["steps"] += len(x)
            if draw.random() < 0.01:
                connection.transport.abort()
            else:
                await connection.close()
            token = hello["session"] if draw.random() < 0.3 else ""
            await asyncio.sleep(0.2 * draw.random())

    async def watch():
        while counts["sessions"] < 500:
            await asyncio.sleep(0.1)
        return resident()

    async def work():
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(client(number) for number in range(40)))
        return await watching

    before = asyncio.run(work())
    grown = resident() - before
    print(counts, f"{before} KiB, {grown} more")
    assert counts["back"] > 0
    assert grown < 8 * 1024, f"{grown} KiB more after {counts}"
