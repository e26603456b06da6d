"""`examples/serving/ray_serve.py`: sessions of two replicas continue after one of them is killed, and after their age."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import torch

import anygru

pytest.importorskip("ray.serve")
websockets = pytest.importorskip("websockets")
SERVICE = Path(__file__).resolve().parents[3] / "examples/serving/ray_serve.py"
WIDTH, CLIENTS, STEPS = 6, 8, 12
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc").exists(), reason="finds the replicas in /proc")]


def replicas():
    """Process numbers of the replicas."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ray::ServeReplica" in place.read_bytes():
                found.append(int(place.parent.name))
        except OSError:  # it has ended
            continue
    return found


@pytest.fixture
def port(tmp_path):
    """The port of a service with two replicas."""
    anygru.save_checkpoint(anygru.GRU(WIDTH, 9, 2), tmp_path / "model.safetensors")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-W", "ignore", SERVICE, "model.safetensors", "--port", str(port)]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--save-every", "0.2", "--max-age", "300"],
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"},
        )
    try:
        end = time.monotonic() + 600
        # It answers as soon as one replica can, and logs when both are ready.
        while not (healthy(port) and "is ready at" in (tmp_path / "log").read_text()):
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.5)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)


def healthy(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30).read() == b"ready"
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


async def open_session(port, token=""):
    """A connection, its token and the steps that it has; asks again while there is no replica for it."""
    query = f"?token={token}" if token else ""
    while True:
        try:
            connection = await websockets.connect(f"ws://127.0.0.1:{port}/session{query}", open_timeout=60)
            hello = json.loads(await connection.recv())
            return connection, hello["session"], hello["steps"]
        except (OSError, websockets.WebSocketException, TimeoutError):
            await asyncio.sleep(0.5)


async def client(port, x, expected, killed):
    """All steps of one sequence; connects again when the connection breaks. Returns how often it did."""
    connection, token, done = await open_session(port)
    again = 0
    while done < STEPS:
        if done == STEPS // 2 and not killed.is_set():
            await asyncio.sleep(1.0)  # saved meanwhile
            killed.ready += 1
            await killed.wait()
        try:
            await connection.send(x[done].numpy().tobytes())
            answer = await connection.recv()
        except websockets.ConnectionClosed:
            connection, _, done = await open_session(port, token)
            assert done <= STEPS // 2, "nothing is counted that was not sent"
            again += 1
            continue
        done += 1
        assert struct.unpack_from("<Q", answer)[0] == done
        assert torch.equal(torch.frombuffer(bytearray(answer[8:]), dtype=torch.float32), expected[done - 1])
    await connection.close()
    return again


def test_sessions_go_on_after_a_replica_is_killed(port, tmp_path):
    layer = anygru.load_checkpoint(tmp_path / "model.safetensors").gru()
    x = torch.randn(CLIENTS, STEPS, WIDTH)
    with torch.no_grad():
        expected = layer(x.transpose(0, 1))[0].transpose(0, 1)

    async def work():
        killed = asyncio.Event()
        killed.ready = 0
        clients = [asyncio.create_task(client(port, x[i], expected[i], killed)) for i in range(CLIENTS)]
        while killed.ready < CLIENTS:
            await asyncio.sleep(0.1)
            for each in clients:
                if each.done():
                    each.result()
        assert len(replicas()) == 2
        os.kill(replicas()[0], signal.SIGKILL)
        killed.set()
        return await asyncio.gather(*clients)

    again = asyncio.run(work())
    assert 0 < sum(again) <= CLIENTS, "the sessions of one replica connected again"
