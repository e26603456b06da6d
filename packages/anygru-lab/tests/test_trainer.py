"""Training steps and validation against plain torch, document by document."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from anygru_lab.language_model.corpus import Corpus, Document
from anygru_lab.language_model.lanes import BOUNDARY
from anygru_lab.language_model.options import Options
from anygru_lab.language_model.trainer import Group, Trainer, learning_rate

TEXT = bytes(range(32, 127)) * 3
CORPUS = Corpus(
    training=(
        Document("a", TEXT[:100]),
        Document("b", TEXT[7:30]),
        Document("c", TEXT[:1]),
        Document("d", TEXT[50:120]),
    ),
    held_out=(Document("e", TEXT[:61]), Document("f", b"?"), Document("g", TEXT[3:40])),
)


def trainer(**changes):
    options = {"hidden": 12, "embedding": 5, "layers": 2, "batch": 3, "bptt": 7, "dropout": 0.0} | changes
    return Trainer(Options(**options), CORPUS, Group())


def read_alone(model, inputs, targets):
    """Nats that torch.nn.GRU, with the same weights, needs for one sequence from a zero state."""
    peer = torch.nn.GRU(model.shape.embedding, model.shape.hidden, model.shape.layers)
    peer.load_state_dict(model.gru.state_dict())
    with torch.no_grad():
        output, _ = peer(model.embed(torch.tensor(inputs)))
        return float(cross_entropy(model.head(output), torch.tensor(targets), reduction="sum"))


@pytest.mark.parametrize("layer", ["anygru", "torch"])
def test_validation_reads_each_document_whole(layer, monkeypatch):
    from anygru_lab.language_model import trainer as module

    monkeypatch.setattr(module, "VALIDATION_WINDOW", 16)
    mine = trainer(layer=layer)
    nats = sum(read_alone(mine.model, [BOUNDARY, *d.data], [*d.data, BOUNDARY]) for d in CORPUS.held_out)
    expected = nats / math.log(2) / sum(map(len, CORPUS.held_out))
    assert mine.validate() == pytest.approx(expected, rel=1e-5)


def test_the_state_is_carried_over_windows_and_starts_from_zero_with_each_document():
    mine = trainer(batch=2, bptt=5)
    stream = mine.stream.symbols.tolist()
    spans = dict(mine.lanes._spans)
    walked = {lane: [] for lane in range(2)}  # the spans that each lane has read, as (start, length)
    bits = 0.0
    size = 0
    original = mine.lanes.next

    def watched():
        segments = original()
        for lane, start, carried in zip(segments.lane, segments.start, segments.carried, strict=True):
            if not carried:
                walked[lane].append([start, 0])
        for lane in range(2):
            room = 5
            for span in walked[lane]:
                take = min(room, spans[span[0]] - span[0] - span[1])
                span[1] += take
                room -= take
            assert room == 0
        return segments

    mine.lanes.next = watched
    for _ in range(30):
        before = sum(span[1] for spans_ in walked.values() for span in spans_)
        step = mine.step(learning_rate=0.0)
        done = [span for spans_ in walked.values() for span in spans_]
        targets = [t for start, length in done for t in stream[start + 1 : start + length + 1]]
        assert sum(length for _, length in done) == before + 10
        bytes_now = sum(t != BOUNDARY for t in targets)
        bits += step.bits_per_byte * (bytes_now - size)
        size = bytes_now
    expected = sum(
        read_alone(mine.model, stream[start : start + length], stream[start + 1 : start + length + 1])
        for start, length in done
    )
    assert bits == pytest.approx(expected / math.log(2), rel=1e-4)


def test_weights_do_not_move_without_a_learning_rate_and_do_with_one():
    mine = trainer()
    before = {name: weight.clone() for name, weight in mine.weights().items()}
    mine.step(0.0)
    assert all(torch.equal(weight, before[name]) for name, weight in mine.weights().items())
    mine.step(1e-2)
    assert all(not torch.equal(weight, before[name]) for name, weight in mine.weights().items())


def test_the_gradient_is_clipped():
    mine = trainer(clip=1e-3)
    mine.step(0.0)
    norm = torch.stack([p.grad.norm() for p in mine.parameters]).norm()
    assert float(norm) == pytest.approx(1e-3, rel=1e-3)


def test_training_overfits_a_little_text():
    mine = trainer(hidden=32, layers=1, bptt=32)
    first = mine.step(1e-2).bits_per_byte
    for _ in range(80):
        last = mine.step(1e-2).bits_per_byte
    assert first > 7
    assert last < 2


@pytest.mark.parametrize("layer", ["anygru", "torch"])
def test_tensors_continue_to_the_same_bits(layer):
    whole = trainer(layer=layer, dropout=0.3)
    losses = [whole.step(1e-2).bits_per_byte for _ in range(10)]
    first = trainer(layer=layer, dropout=0.3)
    for _ in range(4):
        first.step(1e-2)
    saved = {name: tensor.clone() for name, tensor in first.tensors().items()}
    torch.manual_seed(99)
    second = trainer(layer=layer, dropout=0.3)
    second.load_tensors(saved, 4)
    assert [second.step(1e-2).bits_per_byte for _ in range(6)] == losses[4:]
    assert all(torch.equal(weight, whole.weights()[name]) for name, weight in second.weights().items())


def test_tensors_of_another_model_are_refused():
    saved = trainer().tensors()
    with pytest.raises(ValueError, match=r"embed.weight is .*\[257, 5\], expected .*\[257, 6\]"):
        trainer(embedding=6).load_tensors(saved, 0)
    with pytest.raises(KeyError, match="gru.weight_ih_l2"):
        trainer(layers=3).load_tensors(saved, 0)


def test_the_learning_rate_rises_then_falls():
    rates = [learning_rate(step, 100, 2.0, 10) for step in range(100)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[9] == rates[10] == 2.0
    assert rates[55] == pytest.approx(2.0 * (0.02 + 0.98 / 2))
    assert rates[99] == pytest.approx(2.0 * 0.02, rel=0.05)
    assert all(a > b for a, b in zip(rates[10:], rates[11:], strict=False))
    assert learning_rate(0, 1, 2.0, 0) == 2.0
