"""One model and many sessions, each with its own state: rows of one tensor, stepped alone or together."""

import asyncio
import operator
import threading
import weakref
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_number
from . import state_bytes
from .machine import Machine
from .memory import StateRows
from .shared import check_size
from .stepper import check_step, start_of

_FEW, _SMALL = 8, 2 << 20
"""The most submitted steps of a lone GRU that are computed in sequence, and the most bytes of weights that they may
read: one call for many steps takes the time of eight small steps, or of reading these bytes again."""


class SessionError(ArgumentError):
    """A session is closed, busy in another thread, or of another pool; or the pool is full."""


class Session:
    """One sequence: a row of the pool's state. It closes when it is collected."""

    __slots__ = ("__weakref__", "_pool", "_row", "_state")

    def __init__(self, pool: "SessionPool", row: int) -> None:
        self._pool, self._row = pool, row
        self._state = pool._machine.state_of(pool._states, row)

    @property
    def steps(self) -> int:
        """Steps since the sequence began, including steps before a move to another process; 0 for a closed session."""
        return self._pool._counts[self._row] if self._row >= 0 else 0

    @property
    def is_closed(self) -> bool:
        return self._row < 0

    def step(self, x: Tensor) -> Tensor:
        """The model's output [...] for this session's next step x [...].

        Raises:
            SessionError: the session is closed, or another thread is stepping it.
            ArgumentError, ArgumentTypeError: x does not fit; no state changes.
        """
        output = self._pool._advance_one(self, x)
        if output is not None:
            return output
        check_step(self._pool._machine, x, None)
        return self._pool.step([self], x.unsqueeze(0))[0]

    async def submit(self, x: Tensor) -> Tensor:
        """As `step`, errors included, computed together with the steps that others submit meanwhile; see `SessionPool`."""
        return await self._pool._submit(self, x)

    def reset(self) -> None:
        """Start the sequence again."""
        with _Use(self._pool, [self]) as rows:
            self._pool._states[int(rows[0])] = self._pool._start
            self._pool._steps[rows] = 0

    def state_bytes(self) -> bytes:
        """The state as bytes that `SessionPool.open` of the same model takes, in any process and at any time.

        Raises:
            ArgumentError: the state is infinite or NaN.
        """
        with _Use(self._pool, [self]) as rows:
            return state_bytes.pack(
                self._pool._machine, self._pool._states[int(rows[0])], int(self._pool._steps[rows[0]])
            )

    def close(self) -> None:
        """Give the row back to the pool. A closed session cannot be stepped; closing it again changes nothing."""
        self._pool._close(self)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_row", -1) >= 0:
            self._pool._close(self)


class SessionPool:
    """The states of many sessions of one model, in one tensor that is allocated once.

    Any number of threads may step different sessions. With activations that have names, a session gives the
    same bits for any other sessions in the same call.

    Args:
        model: as for `anygru.stepper`.
        capacity: the most sessions at a time.
        example, batch_first, time_axis, rest: as for `anygru.stepper`.
        evict: None: a full pool raises SessionError; "idle": the session that has waited longest for a step leaves.
        on_evict: called with a session that leaves, before it is closed: it can take `state_bytes()`.
        max_delay: seconds that a submitted step waits for others at most.
        max_batch: submitted steps that are computed at once, without waiting any longer.
        retrained: whether `open` takes the state of a model with the same sizes and formula and other weights. The sequence
            then continues from numbers that another model computed.

    Raises:
        ArgumentError, ArgumentTypeError: the model cannot be stepped, or an argument does not fit.

    Example:
        >>> pool = anygru.SessionPool(torch.nn.Sequential(anygru.GRU(3, 8)), capacity=1000)
        >>> with pool.open() as session:
        ...     session.step(torch.randn(3)).shape
        torch.Size([8])
    """

    def __init__(
        self,
        model: nn.Module,
        capacity: int,
        example: Tensor | None = None,
        *,
        batch_first: bool | None = None,
        time_axis: int | None = None,
        rest: Tensor | float | None = None,
        evict: str | None = None,
        on_evict: Callable[[Session], Any] | None = None,
        max_delay: float = 1e-3,
        max_batch: int = 256,
        retrained: bool = False,
    ) -> None:
        if evict not in (None, "idle"):
            raise ArgumentError(f"evict must be None or 'idle', got {evict!r}")
        if on_evict is not None and not callable(on_evict):
            raise ArgumentTypeError(f"on_evict must be a function or None, got {type(on_evict).__name__}")
        self.capacity = check_size("capacity", capacity)
        self._machine = Machine(model, example, batch_first, time_axis)
        self._machine.check_rows()
        self._states = self._machine.zeros(self.capacity)
        self._start = start_of(self._machine, rest)[0]
        self._advance = self._machine.advance
        weights = sum(each.numel() * each.element_size() for each in (*model.parameters(), *model.buffers()))
        self._few = min(_FEW, _SMALL // max(weights, 1)) if self._advance is not None else 1
        """Submitted steps that are faster in sequence than together."""
        self._free = list(range(self.capacity - 1, -1, -1))
        self._counts = array("q", bytes(8 * self.capacity))
        self._steps = np.frombuffer(self._counts, np.int64)
        """Steps of each row; the two share memory: one is fast for a row, the other for many."""
        self._busy = bytearray(self.capacity)
        self._in_use = np.frombuffer(self._busy, np.uint8)
        """1 for a row that a call reads or writes; changes under the lock. The two share memory, as above."""
        self._places = np.zeros(self.capacity, np.int32)
        """The position in a call of each row that it names, which shows whether it names a row twice; under the
        lock."""
        self._lock = threading.RLock()
        self._idle: OrderedDict[int, weakref.ref[Session]] | None = OrderedDict() if evict else None
        """With eviction: row -> weak reference to its session; the session that waited longest comes first."""
        self._on_evict = on_evict
        self._max_delay = check_number("max_delay", max_delay, "at least 0 seconds")
        self._max_batch = check_size("max_batch", max_batch)
        if not isinstance(retrained, bool):
            raise ArgumentTypeError(f"retrained must be True or False, got {type(retrained).__name__}")
        self._retrained = retrained
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = weakref.WeakKeyDictionary()
        """The submitted steps of each event loop; changes under the lock, a queue in its loop alone."""
        self._submitted: set[Session] = set()
        """Sessions in a queue; changes under the lock."""

    @property
    def step_shape(self) -> tuple[int, ...]:
        """The shape of one session's step."""
        return self._machine.step_shape

    def __len__(self) -> int:
        """Open sessions."""
        return self.capacity - len(self._free)

    def open(self, state: bytes | None = None) -> Session:
        """A new session, from a state of zeros, or of rest, or from `Session.state_bytes()`.

        Raises:
            SessionError: the pool is full, and evicts nothing.
            ArgumentError, ArgumentTypeError: the bytes are cut short, damaged, or of another model; no session opens.
        """
        values, steps = (None, 0) if state is None else state_bytes.unpack(self._machine, state, self._retrained)
        with self._lock:
            if not self._free:
                self._evict()
            session = Session(self, self._free.pop())
            if self._idle is not None:
                self._idle[session._row] = weakref.ref(session)
            self._states[session._row] = self._start if values is None else values
            self._steps[session._row] = steps
        return session

    def step(self, sessions: Sequence[Session], x: Tensor, resets: Tensor | None = None) -> Tensor:
        """The outputs [n, ...] for one step x [n, ...] of n different sessions, in any order.

        Args:
            resets: bool [n]: where it is true, a session starts again before the step.

        Raises:
            SessionError: a session is closed, is given twice, belongs to another pool, or is stepped by another thread.
            ArgumentError, ArgumentTypeError: x or resets do not fit. No state changes in any of these cases.
        """
        if isinstance(sessions, Session):
            raise ArgumentTypeError("sessions must be a list of sessions, got one: call its own step")
        check_step(self._machine, x, len(sessions), resets)
        if not sessions:
            raise ArgumentError("sessions must name at least one session")
        with _Use(self, sessions) as rows:
            places = torch.from_numpy(rows).to(self._states.device)
            if resets is not None:
                self._states[places[resets]] = self._start
                self._steps[places[resets].cpu().numpy()] = 0
            output = self._machine.step(StateRows(self._states, places), x)
            self._steps[rows] += 1
        return output

    def _advance_one(self, session: Session, x: Tensor) -> Tensor | None:
        """The fast path for one session of a model that is a GRU; None if x or the session needs the general way."""
        if self._advance is None:
            return None
        with self._lock:
            row = session._row
            if row < 0 or self._busy[row]:
                return None
            self._busy[row] = 1
            if self._idle is not None:
                self._idle.move_to_end(row)
        try:
            output: Tensor | None = self._advance(x, session._state, False, False)
        finally:
            self._busy[row] = 0
        if output is not None:
            self._counts[row] += 1
        return output

    def _evict(self) -> None:
        """Close the session that has waited longest, or raise SessionError."""
        found = None
        if self._idle is not None:
            sessions = (reference() for reference in self._idle.values())
            found = next(
                (session for session in sessions if session is not None and not self._busy[session._row]), None
            )
        if found is None:
            raise SessionError(f"all {self.capacity} sessions of the pool are open; close one, or give evict='idle'")
        if self._on_evict is not None:
            self._on_evict(found)
        self._close(found)

    def _close(self, session: Session) -> None:
        with self._lock:
            row = session._row
            if row < 0:
                return
            if self._busy[row]:
                raise SessionError("the session is being stepped by another thread and cannot be closed")
            session._row = -1
            if self._idle is not None:
                self._idle.pop(row, None)
            self._free.append(row)

    async def _submit(self, session: Session, x: Tensor) -> Tensor:
        loop = asyncio.get_running_loop()
        like = self._machine.like
        if type(x) is not Tensor or (x.shape, x.dtype, x.device) != (self._machine.step_shape, like.dtype, like.device):
            check_step(self._machine, x, None)
        if session.is_closed or session._pool is not self:
            raise SessionError("the session is closed" if session.is_closed else "the session is of another pool")
        with self._lock:
            if session in self._submitted:
                raise SessionError("the session has submitted a step that is not computed yet")
            queue = self._queues.get(loop) or self._queues.setdefault(loop, _Queue())
            self._submitted.add(session)
        future: asyncio.Future[Tensor] = loop.create_future()
        queue.waiting[session] = x, future
        if len(queue.waiting) >= self._max_batch:
            self._flush(queue)
        elif queue.timer is None:
            queue.timer = loop.call_later(self._max_delay, self._flush, queue)
        return await future

    def _flush(self, queue: "_Queue") -> None:
        """Compute all submitted steps of an event loop; a session that was closed meanwhile gets its error alone."""
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        waiting, queue.waiting = queue.waiting, {}
        with self._lock:
            self._submitted -= waiting.keys()
        good = []
        for session, (x, future) in waiting.items():
            if future.cancelled():
                continue
            if session.is_closed:
                future.set_exception(SessionError("the session was closed before its step was computed"))
            else:
                good.append((session, x, future))
        for part in [[each] for each in good] if len(good) <= self._few else [good]:
            self._complete(part)

    def _complete(self, good: list[tuple[Session, Tensor, "asyncio.Future[Tensor]"]]) -> None:
        """Compute submitted steps together, and give each caller its output, or the error."""
        try:
            if len(good) == 1:
                good[0][2].set_result(good[0][0].step(good[0][1]))
                return
            outputs = self.step([session for session, _, _ in good], torch.stack([x for _, x, _ in good]))
        except Exception as error:  # each caller gets it, as after a separate step
            for _, _, future in good:
                future.set_exception(error)
            return
        for (_, _, future), output in zip(good, outputs, strict=True):
            future.set_result(output)


class _Queue:
    """The steps that were submitted in one event loop and are not computed yet, and the timer that ends their wait."""

    def __init__(self) -> None:
        self.waiting: dict[Session, tuple[Tensor, asyncio.Future[Tensor]]] = {}
        self.timer: asyncio.TimerHandle | None = None


_row_of, _pool_of = operator.attrgetter("_row"), operator.attrgetter("_pool")


class _Use:
    """The rows of some sessions, which no other call can use meanwhile."""

    __slots__ = ("_pool", "_rows", "_sessions")

    def __init__(self, pool: SessionPool, sessions: Sequence[Session]) -> None:
        self._pool, self._sessions = pool, sessions

    def __enter__(self) -> np.ndarray:
        pool, sessions = self._pool, self._sessions
        with pool._lock:
            try:
                rows = np.fromiter(map(_row_of, sessions), np.int64, len(sessions))
                ours = list(map(_pool_of, sessions)).count(pool) == len(rows)
            except AttributeError:
                other = next(each for each in sessions if not isinstance(each, Session))
                raise SessionError(f"sessions must be sessions of this pool, got {type(other).__name__}") from None
            if not ours:
                raise SessionError("the session is of another pool")
            if rows.min() < 0:
                raise SessionError("the session is closed")
            if pool._in_use[rows].any():
                raise SessionError("the session is being stepped by another thread")
            if len(rows) > 1:
                numbers = np.arange(len(rows), dtype=np.int32)
                pool._places[rows] = numbers
                if (pool._places[rows] != numbers).any():
                    raise SessionError("a session is given twice")
            pool._in_use[rows] = 1
        self._rows = rows
        return rows

    def __exit__(self, *error: object) -> None:
        pool = self._pool
        with pool._lock:
            pool._in_use[self._rows] = 0
            if pool._idle is not None:
                for row in self._rows.tolist():
                    pool._idle.move_to_end(row)
