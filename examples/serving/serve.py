# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "anygru",
#     "prometheus-client>=0.20",
#     "starlette>=0.37",
#     "uvicorn>=0.29",
#     "uvloop>=0.19; sys_platform != 'win32'",
#     "websockets>=12",
# ]
# ///
"""A websocket service that keeps a GRU's state per connection: python serve.py model.safetensors --port 8000

A client connects to /session and gets a text frame {"session": TOKEN, "steps": N}. For each binary frame with one step (float32,
little-endian, as many numbers as the model reads) it gets a binary frame: the number of steps so far (uint64) and the output
(float32). A client that connects to /session?token=TOKEN goes on where its state was saved; `steps` tells it how far that is.

States are saved every --save-every seconds and at SIGTERM, and taken up at the next start. After `kill -9` the steps since the
last save are lost: the client sees fewer steps than it sent, and sends them again. States of sessions that do not come back are
dropped after --keep seconds, and the oldest where there are more than --keep-most.

/health answers 200 while the service takes sessions, /metrics has the figures for Prometheus.
"""

import argparse
import asyncio
import base64
import contextlib
import importlib.util
import json
import math
import secrets
import struct
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import prometheus_client
import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import anygru
from anygru.extend import open_for_replace

BAD_DATA, RESTART, TRY_LATER, IDLE = 1003, 1012, 1013, 4000
"""Codes of closed connections: RFC 6455, section 7.4.1, and one of our own."""

STEPS = prometheus_client.Counter("anygru_steps", "Steps computed")
SECONDS = prometheus_client.Histogram("anygru_step_seconds", "From a frame's arrival to its answer")
SESSIONS = prometheus_client.Gauge("anygru_sessions", "Open sessions")
REFUSED = prometheus_client.Counter("anygru_refused", "Connections closed by the service", ["code"])


def load(source: str, weights: str | None) -> torch.nn.Module:
    """The model of a checkpoint with one GRU, or of "file.py:callable"."""
    place, _, name = source.rpartition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("model", place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model = getattr(module, name)()
        if weights:
            anygru.freeze(model, weights=weights)
        return model
    layer = anygru.load_checkpoint(source).gru()
    return layer.freeze(weights=weights) if weights else layer


class States:
    """Saved states by token, in memory and in a file, if any: at most `most`, each for `keep` seconds after its last save."""

    def __init__(self, path: Path | None, most: int, keep: float) -> None:
        self.path, self.most, self.keep = path, most, keep
        self.entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        if path is not None and path.exists():
            now = time.monotonic()
            entries = json.loads(path.read_text())
            self.entries.update((token, (now, base64.b64decode(state))) for token, state in entries.items())

    async def get(self, token: str) -> bytes | None:
        return self.entries.get(token, (0.0, None))[1]

    async def put(self, states: dict[str, bytes]) -> None:
        now = time.monotonic()
        for token, state in states.items():
            self.entries[token] = (now, state)
            self.entries.move_to_end(token)
        while self.entries:
            saved, _ = next(iter(self.entries.values()))
            if len(self.entries) <= self.most and now - saved <= self.keep:
                break
            self.entries.popitem(last=False)

    async def flush(self) -> None:
        """Write the file in one step: it is never half written."""
        if self.path is None:
            return
        entries = {token: base64.b64encode(state).decode() for token, (_, state) in self.entries.items()}
        with open_for_replace(self.path) as file:
            file.write(json.dumps(entries).encode())


class Service:
    """The pool, the saved states and the connections.

    Args:
        options: see `arguments`.
        states: with `get`, `put` and `flush` as `States` has them.
    """

    def __init__(self, options: argparse.Namespace, states: Any) -> None:
        self.options, self.states = options, states
        self.pool = anygru.SessionPool(
            load(options.model, options.weights),
            options.sessions,
            max_delay=options.max_delay,
            max_batch=options.max_batch,
        )
        (self.width,) = self.pool.step_shape
        self.open: dict[str, anygru.Session] = {}
        self.waiting: dict[asyncio.Task[Any], float] = {}
        """The tasks of connections that wait for a frame, with the time that ends the wait."""
        self.ready = True

    async def save(self) -> None:
        await self.states.put({token: session.state_bytes() for token, session in self.open.items()})
        await self.states.flush()

    async def save_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self.options.save_every)
            await self.save()

    async def end_the_idle(self) -> None:
        """Cancel each wait that is too long. A timer for each frame would cost as much as its step."""
        while True:
            await asyncio.sleep(min(1.0, self.options.idle / 10, self.options.max_age / 10))
            now = time.monotonic()
            for task in [task for task, until in self.waiting.items() if until <= now]:
                del self.waiting[task]
                task.cancel()

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.save_now_and_then()), asyncio.create_task(self.end_the_idle())]
        yield
        self.ready = False
        for task in tasks:
            task.cancel()
        await self.save()

    async def session(self, socket: WebSocket) -> None:
        """One connection, one session."""
        await socket.accept()
        token = socket.query_params.get("token") or secrets.token_urlsafe(12)
        if token in self.open:
            return await self.refuse(socket, TRY_LATER, "the session is connected already")
        try:
            session = self.pool.open(await self.states.get(token))
        except anygru.ArgumentError as error:
            return await self.refuse(socket, TRY_LATER, str(error))
        self.open[token] = session
        SESSIONS.set(len(self.open))
        try:
            await socket.send_text(json.dumps({"session": token, "steps": session.steps}))
            await self.converse(socket, session)
        except WebSocketDisconnect:
            pass
        finally:
            try:
                await self.states.put({token: session.state_bytes()})
            finally:
                del self.open[token]
                session.close()
                SESSIONS.set(len(self.open))

    async def frame(self, socket: WebSocket, until: float) -> Any:
        """The next message; None after a time of `time.monotonic()`."""
        task = asyncio.current_task()
        assert task is not None
        self.waiting[task] = until
        try:
            return await socket.receive()
        except asyncio.CancelledError:
            if task in self.waiting:  # somebody else cancels the connection
                raise
            return None
        finally:
            self.waiting.pop(task, None)

    async def converse(self, socket: WebSocket, session: anygru.Session) -> None:
        """Answer one frame after the other: a client that sends faster than it reads waits."""
        oldest = time.monotonic() + self.options.max_age
        while True:
            start = time.monotonic()
            message = await self.frame(socket, min(start + self.options.idle, oldest)) if start < oldest else None
            if message is None:
                if oldest <= time.monotonic():
                    return await self.refuse(socket, RESTART, "connect again: the session goes on")
                return await self.refuse(socket, IDLE, f"no step in {self.options.idle:g} s")
            if message["type"] == "websocket.disconnect":
                return None
            data = message.get("bytes")
            if data is None or len(data) != 4 * self.width:
                return await self.refuse(
                    socket, BAD_DATA, f"a step has {4 * self.width} bytes: {self.width} of float32"
                )
            start = time.perf_counter()
            output = await session.submit(torch.frombuffer(bytearray(data), dtype=torch.float32))
            await socket.send_bytes(struct.pack("<Q", session.steps) + output.numpy().tobytes())
            STEPS.inc()
            SECONDS.observe(time.perf_counter() - start)

    async def refuse(self, socket: WebSocket, code: int, reason: str) -> None:
        REFUSED.labels(code=str(code)).inc()
        await socket.close(code, reason[:120])

    async def health(self, request: Request) -> Response:
        return PlainTextResponse("ready" if self.ready else "ends", 200 if self.ready else 503)

    async def metrics(self, request: Request) -> Response:
        return Response(prometheus_client.generate_latest(), media_type=prometheus_client.CONTENT_TYPE_LATEST)

    @property
    def app(self) -> Starlette:
        routes = [
            WebSocketRoute("/session", self.session),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
        ]
        return Starlette(routes=routes, lifespan=self.lifespan)


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a checkpoint with one GRU, or FILE.py:NAME, a callable that returns a model")
    parser.add_argument("--weights", choices=("float32", "bfloat16", "int8"), help="freeze the model's GRUs")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--sessions", type=int, default=10_000, help="the most sessions at a time")
    parser.add_argument(
        "--idle", type=float, default=300.0, help="seconds without a step before a connection is closed"
    )
    parser.add_argument("--max-delay", type=float, default=0.001, help="seconds that a step waits for others")
    parser.add_argument("--max-batch", type=int, default=256, help="steps that are computed without waiting longer")
    parser.add_argument("--states", type=Path, default=Path("states.json"), help="where states are saved")
    parser.add_argument("--save-every", type=float, default=30.0, help="seconds between saves")
    parser.add_argument("--keep", type=float, default=86400.0, help="seconds that a state waits for its client")
    parser.add_argument("--keep-most", type=int, default=100_000, help="the most states that are kept")
    parser.add_argument(
        "--max-age",
        type=float,
        default=math.inf,
        help="seconds before a connection must begin again, perhaps elsewhere",
    )
    return parser


def main() -> None:
    options = arguments(__doc__).parse_args()
    torch.set_num_threads(1)  # steps of small batches; more processes use more cores
    service = Service(options, States(options.states, options.keep_most, options.keep))
    uvicorn.run(
        service.app,
        host=options.host,
        port=options.port,
        ws_max_size=max(125, 4 * service.width),
        ws_per_message_deflate=False,  # numbers do not shrink, and a frame that grew would be too long
        ws_max_queue=4,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
