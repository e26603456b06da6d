"""Whole models step by step, and many sessions of one model."""

import asyncio
import copy
import gc
import pickle
import random
import struct
import threading
import zlib

import pytest
import torch
from dual_path import Frames
from helpers import mostly_slow

import anygru
from anygru.errors import ArgumentError, ArgumentTypeError
from anygru.layers import CausalConv1d, SessionError
from anygru.layers.state_bytes import HEADER


class Model(torch.nn.Module):
    """Something before and behind the GRU; `middle` is between them."""

    def __init__(self, gru=None, middle=None, batch_first=True):
        super().__init__()
        self.before = torch.nn.Linear(6, 8)
        self.middle = middle
        self.gru = gru or torch.nn.GRU(8, 16, 2, batch_first=batch_first)
        self.head = torch.nn.Linear(16 * (2 if self.gru.bidirectional else 1), 4)

    def forward(self, x):
        y = self.before(x)
        if self.middle is not None:
            y = self.middle(y.transpose(1, 2)).transpose(1, 2)
        return self.head(torch.tanh(self.gru(y)[0])) + 0.5


GRUS = {
    "torch": lambda: torch.nn.GRU(8, 16, 2, batch_first=True),
    "ours": lambda: anygru.GRU(8, 16, batch_first=True, reset="before"),
    "norm": lambda: anygru.GRU(8, 16, batch_first=True, norm="layer"),
    "bfloat16": lambda: anygru.GRU(8, 16, 2, batch_first=True).freeze(weights="bfloat16"),
    "int8": lambda: anygru.GRU(8, 16, 2, batch_first=True).freeze(weights="int8"),
    "reference": lambda: anygru.GRU(8, 16, batch_first=True, activation=torch.sin),
}


@pytest.fixture(params=GRUS)
def model(request):
    return Model(GRUS[request.param]()).eval()


def whole(model, x):
    with torch.no_grad():
        return model(x)


def test_steps_give_what_the_sequence_gives(model):
    x = torch.randn(3, 9, 6)
    stepper = anygru.stepper(model, batch_size=3)
    found = torch.stack([stepper.step(x[:, t]) for t in range(9)], 1)
    torch.testing.assert_close(found, whole(model, x), rtol=1e-5, atol=1e-6)


def test_a_stepper_resets_and_gives_its_state(model):
    x = torch.randn(3, 6, 6)
    stepper = anygru.stepper(model, batch_size=3)
    first = [stepper.step(x[:, t]) for t in range(3)]
    saved = stepper.state
    later = [stepper.step(x[:, t]) for t in range(3, 6)]
    stepper.state = saved
    assert torch.equal(stepper.step(x[:, 3]), later[0])
    stepper.reset()
    assert torch.equal(stepper.step(x[:, 0]), first[0])
    torch.testing.assert_close(
        stepper.step(x[:, 1], resets=torch.tensor([True, False, True]))[0::2], whole(model, x[0::2, 1:2])[:, 0]
    )
    with pytest.raises(ArgumentError, match=r"state must be \[3, "):
        stepper.state = saved[:2]


@pytest.mark.parametrize("chosen", [-1, [0, -1], (0, 2), torch.tensor([True, False, True])])
def test_a_stepper_restarts_the_sequences_that_a_stream_would(chosen):
    stepper, stream = anygru.stepper(anygru.GRU(3, 4), batch_size=3), anygru.GRU(3, 4).stream(3)
    stepper.state, stream.state = torch.ones(3, 4), torch.ones(1, 3, 4)
    stepper.reset(chosen)
    stream.reset(chosen)
    assert torch.equal(stepper.state, stream.state[0])


@pytest.mark.parametrize(
    ("chosen", "error", "words"),
    [
        (3, ArgumentError, "sequences must be between 0 and 2 for a batch of 3, got 3"),
        ("x", ArgumentTypeError, "sequences must be an index, indices or a mask, got str 'x'"),
        (1.5, ArgumentTypeError, "sequences must be integers or a mask of bools, got torch.float32"),
        ([True], ArgumentError, r"sequences as a mask must be \[B\] = \[3\], got \[1\]"),
    ],
)
def test_a_stepper_names_sequences_that_are_not_there(chosen, error, words):
    stepper = anygru.stepper(anygru.GRU(3, 4), batch_size=3)
    with pytest.raises(error, match=words):
        stepper.reset(chosen)


def test_steps_first_and_a_causal_convolution():
    model = Model(batch_first=False).eval()
    x = torch.randn(7, 2, 6)
    stepper = anygru.stepper(model, batch_size=2)
    torch.testing.assert_close(torch.stack([stepper.step(each) for each in x]), whole(model, x))
    causal = Model(middle=CausalConv1d(8, 8, 3, dilation=2)).eval()
    x = torch.randn(2, 9, 6)
    stepper = anygru.stepper(causal, batch_size=2)
    torch.testing.assert_close(torch.stack([stepper.step(x[:, t]) for t in range(9)], 1), whole(causal, x))


def test_the_model_stays_as_it_is():
    model = Model()
    before = {name: type(module) for name, module in model.named_modules()}
    anygru.stepper(model)
    assert {name: type(module) for name, module in model.named_modules()} == before
    assert model.training
    assert not model.gru._forward_hooks


class Attention(torch.nn.Module):
    def forward(self, x):
        return x + x.mean(2, keepdim=True)


class HiddenGRU(torch.nn.Module):
    """Its GRU is in a plain list, where no module looks."""

    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(6, 6, batch_first=True)
        self.more = [torch.nn.GRU(6, 6, batch_first=True)]

    def forward(self, x):
        return self.more[0](self.gru(x)[0])[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Model(torch.nn.GRU(8, 16, bidirectional=True, batch_first=True)), "gru: a bidirectional GRU reads"),
        (lambda: Model(middle=torch.nn.Conv1d(8, 8, 3, padding=1)), r"middle \(Conv1d\)"),
        (lambda: Model(middle=torch.nn.BatchNorm1d(8, track_running_stats=False)), r"middle \(BatchNorm1d\)"),
        (lambda: Model(middle=Attention()), r"middle \(Attention\)"),
        (HiddenGRU, "the model itself"),
        (lambda: torch.nn.Linear(3, 3), "must contain a GRU"),
        (lambda: torch.nn.GRU(3, 3, bidirectional=True), "bidirectional"),
        (
            lambda: Model(middle=torch.nn.Unflatten(-1, (2, 4))),
            r"called with random numbers \[2, 5, 6\], so give example=",
        ),
    ],
)
def test_what_looks_at_more_than_a_step_is_refused_by_name(make, words):
    with pytest.raises(ArgumentError, match=words):
        anygru.stepper(make())


def same(found, expected):
    """Equal, except for torch's Linear: its rounding depends on the number of rows."""
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def bits(found, expected):
    assert torch.equal(found, expected)


@pytest.mark.parametrize("bare", mostly_slow([True, False]))
def test_any_company_changes_nothing(model, bare):
    """Sessions join, leave and step together at random; a GRU gives the bits that it gives alone."""
    draw = random.Random(3)
    size = 8 if bare else 6
    native = isinstance(getattr(model.gru, "activation", "tanh"), str)  # plain torch computes functions
    model = model.gru if bare else model
    check = bits if bare and native else same
    pool = anygru.SessionPool(model, 20)
    open_sessions = {}
    for _ in range(60):
        if len(open_sessions) < 20 and draw.random() < 0.5:
            session = pool.open()
            open_sessions[session] = anygru.stepper(model)
        chosen = draw.sample(list(open_sessions), draw.randint(0, len(open_sessions)))
        if chosen:
            x = torch.randn(len(chosen), size)
            for output, session, each in zip(pool.step(chosen, x), chosen, x, strict=True):
                check(output, open_sessions[session].step(each[None])[0])
        if open_sessions and draw.random() < 0.3:
            session = draw.choice(list(open_sessions))
            del open_sessions[session]
            session.close()
    assert len(pool) == len(open_sessions)


def test_a_bare_layer_steps_as_a_stream():
    layer = anygru.GRU(5, 7, 2)
    pool, stream = anygru.SessionPool(layer, 3), layer.stream()
    with pool.open() as session:
        for x in torch.randn(6, 5):
            assert torch.equal(session.step(x), stream.step(x))
        assert session.steps == 6
        other = pool.open()
        x = torch.randn(2, 5)
        assert torch.equal(pool.step([other, session], x)[1], stream.step(x[1]))
    assert session.is_closed


def test_a_state_moves_in_bytes(model):
    pool, there = anygru.SessionPool(model, 3), anygru.SessionPool(model, 5)
    session = pool.open()
    for x in torch.randn(4, 6):
        session.step(x)
    moved = there.open(session.state_bytes())
    x = torch.randn(6)
    assert torch.equal(moved.step(x), session.step(x))
    assert moved.steps == session.steps == 5


def test_forged_bytes_are_refused_and_change_nothing():
    pool = anygru.SessionPool(Model(), 2)
    session = pool.open()
    session.step(torch.randn(6))
    good = session.state_bytes()
    other = anygru.SessionPool(Model(torch.nn.GRU(8, 16, 1, batch_first=True)), 2)
    with pytest.raises(ArgumentError, match="of a model of other sizes"):
        other.open(good)
    for place in range(0, len(good), 7):
        bad = bytearray(good)
        bad[place] ^= 0x40
        with pytest.raises(ArgumentError):
            pool.open(bytes(bad))
    for end in (0, 3, 30, len(good) - 1):
        with pytest.raises(ArgumentError):
            pool.open(good[:end])
    with pytest.raises(ArgumentTypeError, match="must be bytes"):
        pool.open("text")
    assert len(pool) == 1
    assert session.state_bytes() == good


@pytest.mark.parametrize(
    ("steps", "numbers", "value"),
    [(2**63 - 1, 4, 0.5), (2**63, 4, 0.5), (2**64 - 1, 4, 0.5), (1, 77, 0.5), (1, 3, 0.5), (1, 4, float("nan"))],
)
def test_forged_numbers_with_a_right_checksum_are_refused(steps, numbers, value):
    """The checksum is not a secret: anyone can make bytes with it."""
    pool = anygru.SessionPool(anygru.GRU(3, 4), 2)
    session = pool.open()
    head = HEADER.unpack_from(session.state_bytes())[:3]
    body = struct.pack("<4f", *[value] * 4)
    check = zlib.crc32(body, zlib.crc32(HEADER.pack(*head, steps, numbers, 0)))
    with pytest.raises(ArgumentError, match="state"):
        pool.open(HEADER.pack(*head, steps, numbers, check) + body)
    assert len(pool) == 1


def test_a_state_belongs_to_the_numbers_of_a_model_and_to_nothing_else():
    layer = anygru.GRU(16, 64)
    data = anygru.SessionPool(layer, 1).open().state_bytes()
    torch.set_printoptions(precision=7)
    try:
        same = [copy.deepcopy(layer), copy.deepcopy(layer).requires_grad_(False), torch.nn.Sequential(layer)]
        of_torch = torch.nn.GRU(16, 64)
        of_torch.load_state_dict(layer.state_dict())
        for model in (*same, of_torch):
            anygru.SessionPool(model, 1).open(data)
    finally:
        torch.set_printoptions(profile="default")
    changed = copy.deepcopy(layer)
    with torch.no_grad():
        changed.weight_hh_l0[40, 30] += 1  # not in the part that torch prints
    with pytest.raises(ArgumentError, match="other weights; a pool with retrained=True"):
        anygru.SessionPool(changed, 1).open(data)
    anygru.SessionPool(changed, 1, retrained=True).open(data)
    for other in (anygru.GRU(16, 64, reset="before"), layer.freeze("int8"), copy.deepcopy(layer).double()):
        with pytest.raises(ArgumentError, match="other sizes, formula, dtype"):
            anygru.SessionPool(other, 1, retrained=True).open(data)


class Causal(torch.nn.Module):
    """A causal convolution as people write it, which looks `gap` steps back."""

    def __init__(self, gap):
        super().__init__()
        self.gap, self.conv = gap, torch.nn.Conv1d(6, 8, 2, dilation=gap)
        self.gru = torch.nn.GRU(8, 16, batch_first=True)

    def forward(self, x):
        return self.gru(self.conv(torch.nn.functional.pad(x.transpose(1, 2), (self.gap, 0))).transpose(1, 2))[0]


class Lag(torch.nn.Module):
    """A GRU; its output is compared with an earlier output."""

    def __init__(self, gap):
        super().__init__()
        self.gap, self.gru = gap, torch.nn.GRU(6, 16, batch_first=True)

    def forward(self, x):
        y = self.gru(x)[0]
        return y - torch.nn.functional.pad(y, (0, 0, self.gap, 0))[:, : y.shape[1]]


@pytest.mark.parametrize("gap", [1, 5, 200])
def test_a_look_back_is_found_however_long(gap):
    with pytest.raises(ArgumentError, match="cannot be stepped"):
        anygru.stepper(Lag(gap), torch.randn(2, 3, 6))


@pytest.mark.parametrize("gap", [1, 5, 200])
def test_a_causal_convolution_keeps_its_last_inputs(gap):
    model, input = Causal(gap), torch.randn(2, gap + 40, 6)
    stepper = anygru.stepper(model, input, batch_size=2)
    with torch.no_grad():
        torch.testing.assert_close(torch.stack([stepper.step(x) for x in input.unbind(1)], 1), model(input))


def test_two_event_loops_submit_to_one_pool():
    pool = anygru.SessionPool(anygru.GRU(3, 4), 2, max_delay=1e-4)
    found = []

    async def go():
        session = pool.open()
        for _ in range(300):
            await asyncio.wait_for(session.submit(torch.ones(3)), 20)
        found.append(session.steps)

    threads = [threading.Thread(target=asyncio.run, args=(go(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [300, 300]


def test_wrong_steps_change_no_state():
    pool = anygru.SessionPool(Model(), 3)
    a, b = pool.open(), pool.open()
    before = a.state_bytes(), b.state_bytes()
    closed = pool.open()
    closed.close()
    closed.close()
    elsewhere = anygru.SessionPool(Model(), 1).open()
    for sessions, x, error, words in [
        ([a, closed], torch.randn(2, 6), SessionError, "closed"),
        ([a, a], torch.randn(2, 6), SessionError, "given twice"),
        ([a, elsewhere], torch.randn(2, 6), SessionError, "another pool"),
        ([a, None], torch.randn(2, 6), SessionError, "got NoneType"),
        ([a, b], torch.randn(2, 5), ArgumentError, r"x must be \[2, 6\], got \[2, 5\]"),
        ([a, b], torch.randn(3, 6), ArgumentError, r"x must be \[2, 6\], got \[3, 6\]"),
        (a, torch.randn(1, 6), ArgumentTypeError, "sessions must be a list of sessions, got one"),
        ([a, b], torch.randn(2, 6).double(), ArgumentTypeError, "got torch.float64"),
        ([a, b], [[0.0] * 6] * 2, ArgumentTypeError, "x must be a tensor"),
        ([], torch.randn(0, 6), ArgumentError, "at least one session"),
    ]:
        with pytest.raises(error, match=words):
            pool.step(sessions, x)
    with pytest.raises(ArgumentTypeError, match=r"resets must be bool \[1\], got list"):
        pool.step([a], torch.randn(1, 6), resets=[True])
    with pytest.raises(ArgumentError, match=r"x must be \[6\], got \[5\]"):
        a.step(torch.randn(5))
    assert (a.state_bytes(), b.state_bytes()) == before
    assert pool.step([a, b], torch.randn(2, 6)).shape == (2, 4), "no session stayed busy"


def test_nan_stays_in_its_session(model):
    pool, clean = anygru.SessionPool(model, 4), anygru.SessionPool(model, 4)
    mixed, alone = [pool.open() for _ in range(4)], [clean.open() for _ in range(4)]
    for _ in range(3):
        x = torch.randn(4, 6)
        expected = clean.step(alone, x)
        x[2] = float("nan")
        found = pool.step(mixed, x)
        assert found[2].isnan().all()
        bits(found[[0, 1, 3]], expected[[0, 1, 3]])
    with pytest.raises(ArgumentError, match="infinite or NaN after 3 steps"):
        mixed[2].state_bytes()
    assert mixed[0].state_bytes()
    mixed[2].reset()
    assert mixed[2].state_bytes()


def test_one_session_in_two_threads_is_an_error():
    started, go = threading.Event(), threading.Event()

    class Waits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = torch.nn.GRU(3, 3, batch_first=True)
            self.waits = False

        def forward(self, x):
            if threading.current_thread() is not threading.main_thread():
                started.set()
                assert go.wait(60)
            return self.gru(x)[0]

    pool = anygru.SessionPool(Waits(), 2)
    session, other = pool.open(), pool.open()
    thread = threading.Thread(target=session.step, args=(torch.randn(3),))
    thread.start()
    assert started.wait(60)
    with pytest.raises(SessionError, match="another thread"):
        session.step(torch.randn(3))
    with pytest.raises(SessionError, match="another thread"):
        session.close()
    other.step(torch.randn(3))
    go.set()
    thread.join()
    session.step(torch.randn(3))
    assert session.steps == 2


def test_threads_step_different_sessions(model):
    pool = anygru.SessionPool(model, 8)
    x = torch.randn(8, 20, 6)
    sessions = [pool.open() for _ in range(8)]
    found = [[] for _ in range(8)]

    def work(place):
        found[place] = [sessions[place].step(each) for each in x[place]]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close(
        torch.stack([torch.stack(each) for each in found]), whole(model, x), rtol=1e-5, atol=1e-6
    )


def test_a_collected_session_closes_and_its_row_starts_from_zeros():
    pool = anygru.SessionPool(Model(), 1)
    session = pool.open()
    first = session.step(torch.ones(6))
    with pytest.raises(SessionError, match="all 1 sessions"):
        pool.open()
    del session
    gc.collect()
    assert torch.equal(pool.open().step(torch.ones(6)), first)


def test_the_longest_idle_session_leaves():
    left = []
    pool = anygru.SessionPool(Model(), 2, evict="idle", on_evict=lambda session: left.append(session.state_bytes()))
    a, b = pool.open(), pool.open()
    a.step(torch.randn(6))
    state = b.state_bytes()
    a.step(torch.randn(6))
    c = pool.open()
    assert b.is_closed
    assert not a.is_closed
    assert left == [state]
    with pytest.raises(SessionError, match="closed"):
        b.step(torch.randn(6))
    c.close()


def test_submitted_steps_are_computed_together(model):
    pool = anygru.SessionPool(model, 10, max_delay=60, max_batch=10)
    alone = [anygru.stepper(model) for _ in range(10)]
    sessions = [pool.open() for _ in range(10)]
    x = torch.randn(10, 6)

    async def all_at_once():
        return await asyncio.gather(*(session.submit(each) for session, each in zip(sessions, x, strict=True)))

    for output, stepper, each in zip(asyncio.run(all_at_once()), alone, x, strict=True):
        same(output, stepper.step(each[None])[0])


def test_a_step_that_cannot_be_computed_fails_alone():
    pool = anygru.SessionPool(Model(), 3, max_delay=0.0)
    a, b = pool.open(), pool.open()

    async def work():
        first = asyncio.ensure_future(a.submit(torch.randn(6)))
        second = asyncio.ensure_future(b.submit(torch.randn(6)))
        await asyncio.sleep(0)
        with pytest.raises(SessionError, match="not computed yet"):
            await a.submit(torch.randn(6))
        b.close()
        with pytest.raises(ArgumentError, match=r"x must be \[6\], got \[5\]"):
            await a.submit(torch.randn(5))
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = asyncio.run(work())
    assert first.shape == (4,)
    assert isinstance(second, SessionError)


@pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")
def test_a_few_submitted_steps_of_a_layer_are_single_ones():
    layer = anygru.GRU(6, 8)
    pool, other = (anygru.SessionPool(layer, 40, max_delay=0.0) for _ in range(2))
    sessions, twins = ([each.open() for _ in range(40)] for each in (pool, other))
    calls, together = [], pool.step
    pool.step = lambda chosen, x, resets=None: (calls.append(len(chosen)), together(chosen, x, resets))[1]

    async def submitted(x):
        return await asyncio.gather(*(one.submit(each) for one, each in zip(sessions, x, strict=False)))

    for number in (1, 3, 40):
        x = torch.randn(number, 6)
        for output, twin, each in zip(asyncio.run(submitted(x)), twins, x, strict=False):
            same(output, twin.step(each))
    assert calls == [40]
    pool._busy[sessions[1]._row] = 1  # as while another thread steps it

    async def one_fails():
        return await asyncio.gather(*(each.submit(torch.randn(6)) for each in sessions[:3]), return_exceptions=True)

    first, second, third = asyncio.run(one_fails())
    pool._busy[sessions[1]._row] = 0
    assert first.shape == third.shape == (8,)
    assert isinstance(second, SessionError)
    with pytest.raises(ArgumentTypeError, match="x must be torch.float32"):
        asyncio.run(sessions[0].submit(torch.randn(6, dtype=torch.float64)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"capacity": 0}, "capacity"),
        ({"capacity": 2, "evict": "old"}, "evict must be None or 'idle', got 'old'"),
        ({"capacity": 2, "max_delay": -1.0}, "max_delay"),
        ({"capacity": 2, "max_delay": "1"}, "max_delay must be at least 0 seconds, got str"),
        ({"capacity": 2, "max_batch": 0}, "max_batch"),
        ({"capacity": 2, "evict": "idle", "on_evict": 3}, "on_evict must be a function or None, got int"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
        anygru.SessionPool(Model(), **options)


def test_resets_and_decays_that_the_model_gives_its_layer():
    class Decaying(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = anygru.GRU(3, 4)

        def forward(self, x):
            return self.gru(x, resets=x[..., 0] > 1, decay=torch.sigmoid(x[..., 1:2]))[0]

    model = Decaying().eval()
    x = torch.randn(12, 2, 3)
    stepper = anygru.stepper(model, batch_size=2)
    torch.testing.assert_close(torch.stack([stepper.step(each) for each in x]), whole(model, x))


@pytest.mark.parametrize(("dtype", "factor"), [(torch.bfloat16, 3.0), (torch.float32, 8.0)])
def test_rounding_that_a_model_amplifies_is_no_look_back(dtype, factor):
    """With large weights an error in the last bit grows over 256 steps, in any implementation."""
    layer = torch.nn.GRU(8, 64, 2, batch_first=True)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.mul_(factor)
    anygru.stepper(layer.to(dtype))
    with pytest.raises(ArgumentError, match="cannot be stepped"):
        anygru.stepper(Lag(10), torch.randn(2, 3, 6))


def test_a_model_may_take_short_sequences_only():
    class Short(torch.nn.Module):
        def __init__(self, gap):
            super().__init__()
            self.lag = Lag(gap)

        def forward(self, x):
            assert x.shape[1] <= 100
            return self.lag(x) if self.lag.gap else self.lag.gru(x)[0]

    anygru.stepper(Short(0), torch.randn(2, 3, 6))
    with pytest.raises(ArgumentError, match="cannot be stepped"):
        anygru.stepper(Short(50), torch.randn(2, 3, 6))


class Lanes(torch.nn.Module):
    """A GRU for each of F frequencies of [B, T, F, 3]; `outer` flattens [F * B] instead of [B * F]."""

    def __init__(self, outer):
        super().__init__()
        self.outer = outer
        self.transposed = torch.nn.ConvTranspose2d(3, 3, (2, 1))
        self.gru = torch.nn.GRU(3, 4, batch_first=True)

    def forward(self, x):
        b, t, f, _ = x.shape
        x = self.transposed(x.permute(0, 3, 1, 2))[:, :, :t]  # [B, 3, T, F]
        rows = x.permute(3, 0, 2, 1) if self.outer else x.permute(0, 3, 2, 1)
        output = self.gru(rows.reshape(b * f, t, 3))[0]
        return (
            output.reshape(f, b, t, 4).permute(1, 2, 0, 3) if self.outer else output.reshape(b, f, t, 4).transpose(1, 2)
        )


def test_sequences_are_not_mixed_by_a_model_that_flattens_the_batch_last():
    x = torch.randn(2, 9, 5, 3)
    for example in (x, x[:1], torch.zeros(1, 9, 5, 3), torch.ones(2, 9, 5, 3), torch.randn(1, 300, 5, 3)):
        with pytest.raises(ArgumentError, match=r"the sequences of a batch are mixed in gru"):
            anygru.SessionPool(Lanes(True), 2, example=example)
    with pytest.raises(ArgumentError, match="the sequences of a batch are mixed"):
        anygru.stepper(Lanes(True), x, batch_size=2)
    for model in (Lanes(True), Lanes(False)):
        step = anygru.stepper(model, x)
        outputs = [step.step(each) for each in x[:1].unbind(1)]
        torch.testing.assert_close(torch.stack(outputs, 1), model(x[:1]), rtol=0, atol=1e-5)
    pool, model = anygru.SessionPool(model, 2, example=x), model.eval()
    one, other = pool.open(), pool.open()
    pool.step([one, other], x[:, 0])
    for each in x[1:, 1:4].unbind(1):
        output = pool.step([other], each)
    torch.testing.assert_close(output, model(x[1:])[:, 3], rtol=0, atol=1e-5)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))])
def test_a_stepper_with_a_transposed_convolution_is_copied_and_pickled(twin):
    model, x = Lanes(False).eval(), torch.randn(1, 9, 5, 3)
    step = anygru.stepper(model, torch.randn(2, 9, 5, 3))
    outputs = [step.step(each) for each in x[:, :4].unbind(1)]
    copied = twin(step)
    step.step(torch.randn(1, 5, 3))
    outputs += [copied.step(each) for each in x[:, 4:].unbind(1)]
    torch.testing.assert_close(torch.stack(outputs, 1), model(x), rtol=0, atol=1e-5)


def test_a_model_keeps_the_mode_of_each_module_and_its_steps_have_no_dropout():
    model, x = Frames(), torch.randn(2, 9, 5, 3)
    modes = [module.training for module in model.modules()]
    step = anygru.stepper(model, x)
    assert [module.training for module in model.modules()] == modes
    with pytest.raises(ArgumentError, match="no frames"):
        anygru.stepper(model, torch.randn(2, 9, 3))
    assert [module.training for module in model.modules()] == modes
    outputs = [step.step(each) for each in x[:1].unbind(1)]
    torch.testing.assert_close(torch.stack(outputs, 1), model.eval()(x[:1]), rtol=0, atol=1e-5)
