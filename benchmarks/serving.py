"""Compare the websocket service of examples/serving with the same service that calls ONNX Runtime for each step.

    python benchmarks/serving.py --clients 1000 --rate 3

Each client sends `--rate` steps per second to a GRU(64, 128) and waits for each answer. Each service runs with one thread in its
own process; the services take turns. The output has steps per second of the service's processor time, and the 99th percentile of
the time from a step to its answer.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import torch
import websockets

import anygru

INPUT, HIDDEN = 64, 128
SERVICE = Path(__file__).resolve().parents[1] / "examples/serving"
WAYS = ("SessionPool", "ONNX Runtime")


class OnnxPool:
    """The part of `SessionPool` that the service uses, with a NumPy state per session."""

    def __init__(self, model: Any, capacity: int, **options: Any) -> None:
        import onnxruntime

        import anygru.onnx

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        with tempfile.TemporaryDirectory() as folder:
            anygru.onnx.export_step(model, f"{folder}/step.onnx")
            self.runtime = onnxruntime.InferenceSession(f"{folder}/step.onnx", settings)
        self.step_shape = (INPUT,)

    def open(self, state: bytes | None = None) -> "OnnxSession":
        return OnnxSession(self)


class OnnxSession:
    def __init__(self, pool: OnnxPool) -> None:
        self.pool, self.state, self.steps = pool, np.zeros((1, 1, HIDDEN), np.float32), 0

    async def submit(self, x: torch.Tensor) -> torch.Tensor:
        output, self.state = self.pool.runtime.run(None, {"input": x.numpy()[None], "state": self.state})
        self.steps += 1
        return torch.from_numpy(output[0])

    def state_bytes(self) -> bytes:
        return self.state.tobytes()

    def __enter__(self) -> "OnnxSession":
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing is left to close."""


def serve(way: str) -> None:
    """Run the service with its own arguments."""
    sys.path.insert(0, str(SERVICE))
    import serve as service

    if way == "ONNX Runtime":
        anygru.SessionPool = OnnxPool  # type: ignore[misc, assignment]
    service.main()


class Served:
    """A running service."""

    def __init__(self, way: str, folder: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-W", "ignore", __file__, "--serve", way, f"{folder}/model.safetensors"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([*command, "--port", str(self.port)], cwd=folder, env=environment)
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=30)
                return
            except OSError:
                assert self.process.poll() is None, "the service ended"
                time.sleep(0.1)

    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def client(port: int, rate: float, span: tuple[float, float], times: list[float]) -> None:
    """Steps between two times, once connected."""
    step = np.random.default_rng(0).standard_normal(INPUT).astype(np.float32).tobytes()
    async with websockets.connect(f"ws://127.0.0.1:{port}/session", open_timeout=120) as connection:
        json.loads(await connection.recv())
        await asyncio.sleep(max(0.0, span[0] - time.monotonic()))
        while time.monotonic() < span[1]:
            start = time.monotonic()
            await connection.send(step)
            answer = await connection.recv()
            assert len(answer) == 8 + 4 * HIDDEN
            times.append(time.monotonic() - start)
            await asyncio.sleep(max(0.0, start + 1 / rate - time.monotonic()))


async def turn(port: int, clients: int, rate: float, seconds: float) -> list[float]:
    """Seconds from a step to its answer, of all steps of this number of clients."""
    times: list[float] = []
    begin = time.monotonic() + clients / 200  # then all clients are connected
    spans = [(begin + i / clients / rate, begin + seconds) for i in range(clients)]
    await asyncio.gather(*(client(port, rate, span, times) for span in spans))
    return times


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        way = sys.argv[2]
        del sys.argv[1:3]
        serve(way)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=3.0, help="steps per second of each client")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anygru.save_checkpoint(anygru.GRU(INPUT, HIDDEN), f"{folder}/model.safetensors")
        services = {way: Served(way, folder) for way in WAYS}
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        try:
            for _ in range(options.rounds):
                for way, service in services.items():
                    before = service.processor_time()
                    times = asyncio.run(turn(service.port, options.clients, options.rate, options.seconds))
                    used = service.processor_time() - before
                    found[way].append((len(times) / used, statistics.quantiles(times, n=100)[98]))
        finally:
            for service in services.values():
                service.process.terminate()
                service.process.wait()
    for way, results in found.items():
        each, late = (statistics.median(column) for column in zip(*results, strict=True))
        print(f"{way:14} {each:9.0f} steps per second of processor time, 99th percentile {1e3 * late:6.1f} ms")


if __name__ == "__main__":
    main()
