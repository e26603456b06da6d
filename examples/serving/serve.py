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

States are saved every --save-every seconds, when a connection ends and at SIGTERM, in a database of SQLite. After `kill -9` the
steps since the last save are lost: the client sees fewer steps than it sent, and sends them again. A connection with a token
takes the session over from an older connection, which may have lost its network. States of sessions that do not come back are
dropped after --keep seconds, and the oldest where there are more than --keep-most.

/health answers 200 while the service takes sessions and saves them, /metrics has the figures for Prometheus.
"""

import argparse
import asyncio
import contextlib
import gc
import importlib.util
import json
import logging
import math
import os
import re
import secrets
import sqlite3
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import prometheus_client
import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import anygru
from anygru.layers import SessionError

BAD_DATA, POLICY, RESTART, TRY_LATER, IDLE, TAKEN_OVER = 1003, 1008, 1012, 1013, 4000, 4001
"""Codes of closed connections: RFC 6455, section 7.4.1, and two of our own."""
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
LOG = logging.getLogger("anygru.serving")

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
    layer = anygru.load_checkpoint(source, sandbox=True).gru()
    return layer.freeze(weights=weights) if weights else layer


class States:
    """Saved states by token: at most `most`, each for `keep` seconds of a running service after its last save.

    Ages are of a clock that only this store sets: it begins at the newest save, so that no state is lost when the computer's
    clock jumps.

    Args:
        path: a database of SQLite, which is made if it is missing; None: in memory.
    """

    def __init__(self, path: Path | None, most: int, keep: float) -> None:
        self.path, self.most, self.keep = path, most, keep
        self.lock = threading.Lock()
        self.memory = sqlite3.connect(":memory:", check_same_thread=False) if path is None else None
        with self.connected() as connection:  # a database that cannot be used is an error at the start
            ((newest,),) = connection.execute("SELECT max(saved) FROM states")
        self.start = (newest or 0.0) - time.monotonic()

    @contextlib.contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A transaction. A connection of its own for each finds the file again when its volume was away."""
        if self.path is not None:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # a token is the key to its session
        connection = self.memory or sqlite3.connect(self.path, timeout=10)
        try:
            with self.lock, connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("CREATE TABLE IF NOT EXISTS states (token TEXT PRIMARY KEY, saved REAL, state BLOB)")
                connection.execute("CREATE INDEX IF NOT EXISTS by_age ON states (saved)")
                yield connection
        finally:
            if connection is not self.memory:
                connection.close()

    async def get(self, token: str) -> bytes | None:
        return await asyncio.to_thread(self._get, token)

    def _get(self, token: str) -> bytes | None:
        with self.connected() as connection:
            row = connection.execute("SELECT state FROM states WHERE token = ?", (token,)).fetchone()
        return None if row is None else row[0]

    async def put(self, states: dict[str, bytes]) -> None:
        """Save states; what is saved stays whole whenever the process ends."""
        await asyncio.to_thread(self._put, states)

    def _put(self, states: dict[str, bytes]) -> None:
        now = self.start + time.monotonic()
        with self.connected() as connection:
            rows = [(token, now, state) for token, state in states.items()]
            connection.executemany("INSERT OR REPLACE INTO states VALUES (?, ?, ?)", rows)
            connection.execute("DELETE FROM states WHERE saved < ?", (now - self.keep,))
            newest_first = "SELECT token FROM states ORDER BY saved DESC, rowid DESC LIMIT -1 OFFSET ?"
            connection.execute(f"DELETE FROM states WHERE token IN ({newest_first})", (self.most,))


class Connection:
    """A client's connection and its session, which a newer connection with the same token can take over."""

    def __init__(self) -> None:
        self.task = asyncio.current_task()
        self.session: anygru.Session | None = None
        self.saved = 0
        """Steps of the session when it was last saved."""

    def hand_over(self) -> bytes | None:
        """End the connection and its session; return the state if it has one."""
        assert self.task is not None
        self.task.cancel()
        if self.session is None or not self.session.steps:
            return None
        with self.session as session:
            return state_of(session)


def state_of(session: anygru.Session) -> bytes | None:
    """The state as bytes; None if it is infinite or NaN, so that the sequence starts again."""
    try:
        return session.state_bytes()
    except anygru.ArgumentError as error:
        LOG.warning("a state is not kept: %s", error)
        return None


def kept(token: str, session: anygru.Session) -> dict[str, bytes]:
    """The state of a session by its token; empty if it is infinite or NaN."""
    state = state_of(session)
    return {} if state is None else {token: state}


class Service:
    """The pool, the saved states and the connections.

    Args:
        options: see `arguments`.
        states: with `get` and `put` as `States` has them.
    """

    def __init__(self, options: argparse.Namespace, states: Any) -> None:
        self.options, self.states = options, states
        self.pool = anygru.SessionPool(
            load(options.model, options.weights),
            options.sessions,
            max_delay=options.max_delay,
            max_batch=options.max_batch,
            retrained=options.retrained,
        )
        (self.width,) = self.pool.step_shape
        self.open: dict[str, Connection] = {}
        self.unsaved: dict[str, bytes] = {}
        """States of sessions that ended and could not be saved."""
        self.waiting: dict[asyncio.Task[Any], float] = {}
        """The tasks of connections that wait for a frame, with the time that ends the wait."""
        self.ready = True
        self.failure = ""
        """Why the last save failed."""
        self.saving = asyncio.Lock()
        """Held while the store writes: saves follow one another, so that a late one does not write an older state."""

    async def changed(self) -> dict[str, tuple[Connection, int, dict[str, bytes]]]:
        """The sessions with steps since their last save: connection, steps, and state by token."""
        found = {}
        for number, (token, each) in enumerate([*self.open.items()]):
            if each.session is not None and each.session.steps != each.saved:  # 0 once it is closed
                found[token] = each, each.session.steps, kept(token, each.session)
            if number % 20 == 19:
                await asyncio.sleep(0)  # steps of other sessions come between
        return found

    async def save(self, ended: dict[str, bytes] | None = None) -> None:
        """Save the states that changed, or of sessions that ended; a failure is reported, and tried again later."""
        self.unsaved |= ended or {}
        try:
            changed = await self.changed() if ended is None else {}
            async with self.saving:
                states = dict(self.unsaved)
                for token, (each, _, own) in changed.items():
                    if self.open.get(token) is each:  # a session that ended meanwhile has a newer state
                        states |= own
                if states:
                    await self.states.put(states)
        except Exception as error:  # of any kind of store: the service continues
            self.failure = f"states are not saved: {type(error).__name__}: {error}"
            LOG.error(self.failure)
            while len(self.unsaved) > self.options.keep_most:
                del self.unsaved[next(iter(self.unsaved))]
            return
        if self.failure:
            LOG.error("states are saved again")
        self.failure = ""
        for token, state in states.items():
            if self.unsaved.get(token) == state:
                del self.unsaved[token]
        for each, steps, _ in changed.values():
            each.saved = steps

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
        origin = socket.headers.get("origin")
        own_host = origin is None or urlsplit(origin).netloc == socket.headers.get("host")
        if not own_host and origin not in self.options.origin:
            return await self.refuse(socket, POLICY, "pages of this origin are not allowed")
        await socket.accept()
        given = socket.query_params.get("token")
        token = given or secrets.token_urlsafe(12)
        if not TOKEN.fullmatch(token):
            return await self.refuse(socket, POLICY, "a token has at most 64 letters, digits, - and _")
        own, before = Connection(), self.open.get(token)
        self.open[token] = own
        state = before.hand_over() if before is not None else None
        SESSIONS.set(len(self.open))
        try:
            if state is None and given:
                state = self.unsaved.get(token) or await self.states.get(token)
            own.session = self.opened(state)
            await socket.send_text(json.dumps({"session": token, "steps": own.session.steps}))
            await self.converse(socket, own.session)
        except SessionError as error:  # the pool is full
            if state is not None:
                self.unsaved[token] = state
            await self.refuse(socket, TRY_LATER, str(error))
        except (sqlite3.Error, OSError) as error:
            await self.refuse(socket, TRY_LATER, f"saved states cannot be read: {error}")
        except WebSocketDisconnect:
            pass
        except asyncio.CancelledError:
            if self.open.get(token) is own:  # the service ends
                raise
            with contextlib.suppress(Exception):  # its network may be gone
                await asyncio.wait_for(self.refuse(socket, TAKEN_OVER, "a newer connection has the session"), 1)
        finally:
            if self.open.get(token) is own:
                del self.open[token]
                SESSIONS.set(len(self.open))
                await self.end(token, own)

    def opened(self, state: bytes | None) -> anygru.Session:
        """A session that continues from a state, or from zeros where the state is another model's."""
        try:
            return self.pool.open(state)
        except SessionError:
            raise
        except anygru.ArgumentError as error:
            LOG.warning("a session starts again: %s", error)
            return self.pool.open()

    async def end(self, token: str, connection: Connection) -> None:
        if connection.session is None:
            return
        with connection.session as session:
            states = kept(token, session) if session.steps else {}  # who sent nothing pushes no state out
        if states:
            await self.save(states)

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
            step = torch.frombuffer(bytearray(data), dtype=torch.float32)
            if not bool(step.isfinite().all()):
                return await self.refuse(socket, BAD_DATA, "the numbers of a step must be finite")
            output = await session.submit(step)
            await socket.send_bytes(struct.pack("<Q", session.steps) + output.numpy().tobytes())
            STEPS.inc()
            SECONDS.observe(time.perf_counter() - start)

    async def refuse(self, socket: WebSocket, code: int, reason: str) -> None:
        REFUSED.labels(code=str(code)).inc()
        await socket.close(code, reason[:120])

    async def health(self, request: Request) -> Response:
        problem = self.failure if self.ready else "ends"
        return PlainTextResponse(problem or "ready", 503 if problem else 200)

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
    parser.add_argument("--states", type=Path, default=Path("states.sqlite"), help="where states are saved")
    parser.add_argument("--save-every", type=float, default=30.0, help="seconds between saves")
    parser.add_argument(
        "--retrained", action="store_true", help="continue sessions of a model with the same sizes and other weights"
    )
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        help="of pages that may connect, such as https://example.org; may be repeated (default: those of this host)",
    )
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
    gc.freeze()  # the collector would stop all sessions for 0.2 s to look through the modules, which stay
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
