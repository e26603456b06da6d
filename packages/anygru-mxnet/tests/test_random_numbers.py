"""Seeded programs draw the numbers that MXNet 1.9.1 drew on a CPU, to the last bit (recorded by `random_numbers.py`)."""

import json
import pathlib

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd
from anygru_mxnet.operators.generator import Generator, States

from . import random_numbers

LOSSES = [1.060313, 0.992604, 0.984906, 0.907364, 0.891028, 0.87024, 0.807259, 0.788339]
RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "random_numbers.json").read_text())


def test_every_call_is_recorded():
    assert list(RECORDED) == random_numbers.CALLS


@pytest.mark.parametrize("call", RECORDED)
def test_numbers_are_mxnets(call):
    assert random_numbers.answer(mx, call) == RECORDED[call]


def test_words_are_those_of_the_standard():
    # ISO C++ [rand.predef]: the 10,000th word of mt19937, which begins from 5489.
    assert States(np.array([5489])).words(np.arange(1), 10_000)[0, -1] == 4123659995


def test_a_state_may_be_read_in_any_pieces():
    whole, pieces = Generator(), Generator()
    expected = whole.one_uniform(3000)
    found = np.concatenate([pieces.one_uniform(size) for size in (1, 623, 1, 0, 1300, 624, 451)])
    np.testing.assert_array_equal(found, expected)


def test_a_program_without_a_seed_begins_as_mxnet_does():
    np.testing.assert_array_equal(
        Generator().uniform(3), np.array([0.54881352186203, 0.5928446054458618, 0.7151893377304077], np.float32)
    )


def test_a_seeded_training_has_mxnets_losses():
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Embedding(20, 6), gluon.rnn.GRU(8, layout="NTC"), gluon.nn.Dropout(0.4), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    ids = nd.random.randint(0, 20, shape=(16, 5)).astype("float32")
    labels = nd.random.randint(0, 3, shape=(16,)).astype("float32")
    losses = []
    for _ in range(8):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(ids), labels)
        loss.backward()
        trainer.step(16)
        losses.append(loss.mean().asscalar())
    np.testing.assert_allclose(losses, LOSSES, rtol=1e-5)


def test_drawing_for_shapes_alone_moves_nothing():
    mx.random.seed(1)
    expected = nd.random.uniform(shape=(4,)).asnumpy()
    mx.random.seed(1)
    mx.sym.random.normal(shape=(3,)).infer_shape()
    np.testing.assert_array_equal(nd.random.uniform(shape=(4,)).asnumpy(), expected)


@pytest.mark.parametrize(
    "call",
    [
        "uniform(2, 1)", "normal(0, 0)", "normal(0, -1)", "exponential(-1)", "gamma(0, 1)", "gamma(1, 0)", "poisson(-1)",
        "negative_binomial(-2, 0.5)", "generalized_negative_binomial(-1, 1)", "generalized_negative_binomial(1, -1)",
        "randint(3, 3)", "gamma(nd.array([-1]), nd.array([1]))",
    ],
)  # fmt: skip
def test_parameters_that_mxnet_refuses_are_refused(call):
    """MXNet 1.9.1 raises an MXNetError; a `randint` of nothing ends its process, a gamma draw below 0 does not end."""
    with pytest.raises(mx.MXNetError):
        eval("nd.random." + call, {"nd": nd})
