"""A stream equals the layer over the whole sequence, however the sequence is cut."""

import copy
import pickle

import pytest
import torch
from helpers import close
from hypothesis import given, settings
from hypothesis import strategies as st

import anygru


def test_a_stream_is_copied_and_pickled() -> None:
    layer = anygru.GRU(3, 5, 2)
    model = torch.nn.Sequential(layer)
    model.stream = stream = layer.stream(2)
    x = torch.randn(6, 2, 3)
    stream.run(x[:2])
    copies = [copy.deepcopy(stream), pickle.loads(pickle.dumps(stream)), copy.deepcopy(model).stream, copy.copy(stream)]
    expected = stream.run(x[2:])
    for own in copies:
        assert torch.equal(own.run(x[2:]), expected)
        assert torch.equal(own.state, stream.state)
    assert copies[2].layer is not layer


@given(st.lists(st.integers(0, 4), max_size=5), st.sampled_from([None, 1, 3]), st.sampled_from(["after", "before"]))
@settings(deadline=None, max_examples=40)
def test_chunks_equal_the_whole(chunks: list[int], batch: int | None, reset: str) -> None:
    layer = anygru.GRU(4, 6, num_layers=2, dropout=0.5, dtype=torch.float64, reset=reset)
    x = torch.randn(sum(chunks), *([] if batch is None else [batch]), 4, dtype=torch.float64)
    stream = layer.stream(batch)
    parts = [stream.run(part) for part in x.split(chunks)]
    expected, h_n = layer.eval()(x)
    close(torch.cat([x.new_zeros(0, *expected.shape[1:]), *parts]), expected)
    close(stream.state, h_n)


def test_steps_equal_the_whole_without_gradients() -> None:
    layer, x = anygru.GRU(4, 6, batch_first=True), torch.randn(5, 3, 4)
    stream = layer.stream(3)
    steps = [stream.step(step) for step in x]
    assert not steps[0].requires_grad
    close(torch.stack(steps, 1), layer(x.transpose(0, 1))[0])
    single = layer.stream()
    close(torch.stack([single.step(step) for step in x[:, 0]]), layer(x[:, 0])[0])
    assert single.state.shape == (1, 6)


def test_state_is_read_set_saved_and_reset() -> None:
    layer, x = anygru.GRU(4, 6, num_layers=2), torch.randn(6, 3, 4)
    stream = layer.stream(3)
    stream.run(x[:3])
    saved = stream.state
    after = stream.run(x[3:])
    saved_copy = saved.clone()
    stream.state = saved
    close(stream.run(x[3:]), after)
    assert torch.equal(saved, saved_copy)  # the arguments are not written to

    stream.state = saved
    stream.reset([0, 2])
    assert not stream.state[:, [0, 2]].any()
    assert torch.equal(stream.state[:, 1], saved[:, 1])
    stream.state = saved
    stream.reset(torch.tensor([False, True, False]))
    assert not stream.state[:, 1].any()
    assert torch.equal(stream.state[:, 0], saved[:, 0])
    stream.reset()
    close(stream.run(x), layer(x)[0])


def test_refresh_takes_replaced_parameters() -> None:
    layer, x = anygru.GRU(4, 6), torch.randn(5, 3, 4)
    stream = layer.stream(3)
    layer.load_state_dict(anygru.GRU(4, 6).state_dict())
    stream.refresh()
    close(stream.run(x), layer(x)[0])
    layer.double()
    stream.refresh()
    stream.reset()
    close(stream.run(x.double()), layer(x.double())[0])


def test_half_precision() -> None:
    layer, x = anygru.GRU(4, 6, dtype=torch.bfloat16), torch.randn(5, 3, 4, dtype=torch.bfloat16)
    close(layer.stream(3).run(x), layer(x)[0])


def test_a_stream_keeps_its_copy_until_refreshed() -> None:
    layer, x = anygru.GRU(4, 6), torch.randn(5, 3, 4)
    before, stream = layer(x)[0], layer.stream(3)
    with torch.no_grad():
        layer.weight_hh_l0.mul_(2)
    close(stream.run(x), before)
    stream.refresh()
    stream.reset()
    close(stream.run(x), layer(x)[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: anygru.GRU(4, 6, bidirectional=True).stream(1), "one direction"),
        (lambda: anygru.GRU(None, 6).stream(1), "has seen no input yet"),
        (lambda: anygru.GRU(4, 6).stream(-1), "batch_size must be at least 0 or None, got -1"),
        (
            lambda: anygru.GRU(4, 6).stream(2).step(torch.zeros(4)),
            r"x must be \[B, I\] with B = 2 and I = 4, got \[4\]",
        ),
        (lambda: anygru.GRU(4, 6).stream(2).step(torch.zeros(3, 4)), r"with B = 2 and I = 4, got \[3, 4\]"),
        (lambda: anygru.GRU(4, 6).stream(2).step(torch.zeros(2, 5)), r"with B = 2 and I = 4, got \[2, 5\]"),
        (lambda: anygru.GRU(4, 6).stream().run(torch.zeros(4)), r"chunk must be \[T, I\] with I = 4, got \[4\]"),
        (lambda: setattr(anygru.GRU(4, 6).stream(2), "state", torch.zeros(1, 3, 6)), r"state must be \[1, 2, 6\]"),
        (lambda: anygru.GRU(4, 6).stream(2).reset(torch.tensor([True])), r"mask must be \[B\] = \[2\], got \[1\]"),
        (lambda: anygru.GRU(4, 6).stream(2).reset(2), "sequences must be between 0 and 1 for a batch of 2, got 2"),
        (lambda: anygru.GRU(4, 6).stream(2).reset([0, -3]), r"for a batch of 2, got \[0, -3\]"),
    ],
)
def test_bad_values(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: anygru.Stream(torch.nn.GRU(4, 6)),
            "layer must be an anygru.GRU or FrozenGRU, got torch.nn.modules.rnn.GRU",
        ),
        (lambda: anygru.GRU(4, 6).stream(2.5), "batch_size must be an int or None, got float"),
        (lambda: anygru.GRU(4, 6).stream(True), "batch_size must be an int or None, got bool"),
        (lambda: anygru.GRU(4, 6).stream(2).step(None), r"x must be a tensor \[B, I\], got NoneType"),
        (lambda: anygru.GRU(4, 6).stream().run([1.0]), r"chunk must be a tensor \[T, I\], got list"),
        (
            lambda: anygru.GRU(4, 6).stream().step(torch.zeros(4).double()),
            "x must be torch.float32 .* got torch.float64",
        ),
        (lambda: setattr(anygru.GRU(4, 6).stream(), "state", [0.0]), r"state must be a tensor \[1, 6\], got list"),
        (lambda: setattr(anygru.GRU(4, 6).stream(), "state", torch.zeros(1, 6, device="meta")), "got a tensor on meta"),
        (
            lambda: anygru.GRU(4, 6).stream(2).reset("all"),
            "sequences must be an index, indices or a mask, got str 'all'",
        ),
        (lambda: anygru.GRU(4, 6).stream(2).reset([0.5]), "must be integers or a mask of bools, got torch.float32"),
    ],
)
def test_bad_types(call, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("backend", [None, "reference"])
def test_a_stream_of_no_sequences(backend: str | None) -> None:
    stream = anygru.GRU(4, 6, backend=backend).stream(0)
    assert stream.step(torch.zeros(0, 4)).shape == (0, 6)
    assert stream.run(torch.zeros(3, 0, 4)).shape == (3, 0, 6)
    assert stream.run(torch.zeros(3, 0, 4), torch.zeros(3, 0, dtype=torch.bool)).shape == (3, 0, 6)


def test_a_chunk_without_steps_may_have_resets() -> None:
    stream = anygru.GRU(4, 6).stream(2)
    stream.step(torch.randn(2, 4))
    before = stream.state
    assert stream.run(torch.zeros(0, 2, 4), torch.zeros(0, 2, dtype=torch.bool)).shape == (0, 2, 6)
    assert torch.equal(stream.state, before)


def test_reset_takes_bytes_for_indices_and_no_index_for_none() -> None:
    stream = anygru.GRU(4, 6).stream(3)
    stream.run(torch.randn(2, 3, 4))
    before = stream.state
    stream.reset([])
    assert torch.equal(stream.state, before)
    stream.reset(torch.tensor([1, 1, 1], dtype=torch.uint8))  # torch's own indexing would take them for a mask of all
    assert stream.state[:, [0, 2]].all()
    assert not stream.state[:, 1].any()


def test_a_step_that_does_not_fit_resets_nothing() -> None:
    stream = anygru.GRU(3, 4).stream(2)
    stream.step(torch.randn(2, 3))
    before = stream.state
    for wrong in (torch.randn(2, 5), torch.randn(3, 3), torch.randn(2, 3).double()):
        with pytest.raises((ValueError, TypeError)):
            stream.step(wrong, resets=torch.tensor([True, True]))
        assert torch.equal(stream.state, before)
