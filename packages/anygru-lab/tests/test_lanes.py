"""Documents as ragged batches: each byte is computed once, in order, without padding."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from anygru_lab.language_model.corpus import Document
from anygru_lab.language_model.lanes import BOUNDARY, WINDOWS_PER_SPAN, Lanes, Stream

texts = st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=8)


def documents(texts):
    return [Document(str(i), text) for i, text in enumerate(texts)]


@given(texts)
def test_a_stream_is_the_documents_between_boundaries(texts):
    stream = Stream(documents(texts))
    expected = [BOUNDARY]
    for text in texts:
        expected += [*text, BOUNDARY]
    assert stream.symbols.tolist() == expected
    for text, start, length in zip(texts, stream.starts, stream.lengths, strict=True):
        assert stream.symbols[start : start + length].tolist() == [BOUNDARY, *text]
        assert stream.symbols[start + 1 : start + length + 1].tolist() == [*text, BOUNDARY]


@given(texts)
def test_packing_is_torch_packing(texts):
    texts = sorted(texts, key=len, reverse=True)
    stream = Stream(documents(texts))
    batch = stream.pack(stream.starts, stream.lengths)
    inputs = pack_sequence([torch.tensor([BOUNDARY, *text]) for text in texts])
    targets = pack_sequence([torch.tensor([*text, BOUNDARY]) for text in texts])
    assert torch.equal(batch.batch_sizes, inputs.batch_sizes)
    assert torch.equal(batch.inputs, inputs.data)
    assert torch.equal(batch.targets, targets.data)


def test_an_empty_batch_has_no_rows():
    stream = Stream(documents([b"a"]))
    nothing = np.zeros(0, dtype=np.int64)
    assert stream.pack(nothing, nothing).rows == 0


@settings(max_examples=40)
@given(texts, st.integers(1, 5), st.integers(1, 9), st.integers(0, 3))
def test_every_window_is_full_and_every_epoch_begins_each_span_once(texts, count, window, seed):
    stream = Stream(documents(texts))
    lanes = Lanes(stream, count, window, seed)
    begun = dict.fromkeys((start for start, _ in lanes._spans), 0)
    for _ in range(-(-3 * len(stream.symbols) // (count * window))):
        segments = lanes.next()
        assert segments.length.min() > 0
        assert segments.length.sum() == count * window  # no padding, and the same work every time
        for start in segments.start[~segments.carried]:
            begun[start] += 1
        assert max(begun.values()) - min(begun.values()) <= 1
    assert min(begun.values()) >= 1


@given(texts, st.integers(1, 9))
def test_one_lane_visits_every_symbol_equally_often(texts, window):
    stream = Stream(documents(texts))
    lanes = Lanes(stream, 1, window, 0)
    visited = np.zeros(len(stream.symbols) - 1, dtype=int)
    for _ in range(len(visited) // window + 3):
        segments = lanes.next()
        for start, length in zip(segments.start, segments.length, strict=True):
            visited[start : start + length] += 1
    assert visited.min() >= 1
    assert visited.max() - visited.min() <= -(-3 * window // len(visited))


@settings(max_examples=40)
@given(texts, st.integers(1, 5), st.integers(1, 9))
def test_a_carried_segment_goes_on_where_its_lane_was(texts, count, window):
    stream = Stream(documents(texts))
    lanes = Lanes(stream, count, window, 0)
    spans = {start for start, _ in lanes._spans}
    ends = {end for _, end in lanes._spans}
    place = dict.fromkeys(range(count))
    for _ in range(30):
        segments = lanes.next()
        assert sorted(segments.lane[segments.last]) == list(range(count))
        assert (np.diff(segments.length) <= 0).all()
        for lane in range(count):
            mine = np.flatnonzero(segments.lane == lane)
            carried = [i for i in mine if segments.carried[i]]
            assert len(carried) <= 1
            if place[lane] in ends or place[lane] is None:
                assert not carried
            else:
                assert segments.start[carried[0]] == place[lane]
            for i in mine:
                end = segments.start[i] + segments.length[i]
                assert segments.carried[i] or segments.start[i] in spans
                assert segments.last[i] or end in ends
                if segments.last[i]:
                    place[lane] = end


def test_a_long_document_is_cut_into_about_equal_spans():
    stream = Stream(documents([b"x" * 1000, b"y" * 10]))
    lanes = Lanes(stream, 2, 4, 0)
    lengths = [end - start for start, end in lanes._spans]
    assert sum(lengths) == 1001 + 11
    assert max(lengths) <= 4 * WINDOWS_PER_SPAN
    assert max(lengths[:-1]) - min(lengths[:-1]) <= 1


@settings(max_examples=30)
@given(texts, st.integers(0, 20), st.integers(0, 5))
def test_lanes_go_on_from_their_state(texts, before, seed):
    stream = Stream(documents(texts))
    one, other = Lanes(stream, 3, 7, seed), Lanes(stream, 3, 7, seed)
    for _ in range(before):
        one.next()
    state = {name: value.clone() for name, value in one.state().items()}
    other.load_state(state)
    for _ in range(20):
        expected, found = one.next(), other.next()
        for column in ("lane", "start", "length", "slot", "carried", "last"):
            assert np.array_equal(getattr(expected, column), getattr(found, column))


def test_the_order_depends_on_seed_and_epoch():
    stream = Stream(documents([bytes([65 + i]) * 5 for i in range(20)]))
    orders = {tuple(Lanes(stream, 1, 6 * 20, seed).next().start) for seed in range(3)}
    assert len(orders) == 3
    lanes = Lanes(stream, 1, 6 * 20, 0)
    assert tuple(lanes.next().start) != tuple(lanes.next().start)


@settings(max_examples=20)
@given(texts, st.integers(1, 5), st.integers(1, 9))
def test_each_symbol_of_a_window_has_a_slot_of_its_own(texts, count, window):
    stream = Stream(documents(texts))
    lanes = Lanes(stream, count, window, 0)
    for _ in range(5):
        segments = lanes.next()
        batch = stream.pack(segments.start, segments.length, segments.slot)
        assert sorted(batch.slots.tolist()) == list(range(count * window))
        assert (segments.slot // window == segments.lane).all()
        part = segments.of_lanes(1, count)
        assert (part.slot // window == part.lane + 1).all()


def test_shares_of_the_lanes_make_the_whole():
    stream = Stream(documents([b"some text", b"more of it", b"x", b"yz" * 20]))
    segments = Lanes(stream, 5, 8, 0).next()
    shares = [segments.of_lanes(0, 2), segments.of_lanes(2, 5)]
    assert set(shares[1].lane) == {0, 1, 2}
    starts = sorted(start for share in shares for start in share.start)
    assert starts == sorted(segments.start)
