"""Random numbers are Paddle's own: values printed in its documentation and recorded from 2.6.2 on a CPU."""

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle.framework import random
from anygru_paddle.framework.random import Generator


def test_documented_initial_weights():
    paddle.seed(100)
    np.testing.assert_allclose(paddle.nn.Linear(1, 1).weight.numpy(), [[0.18551230]], rtol=1e-6)
    paddle.seed(2023)
    expected = [[0.89611185, 0.04935038], [-0.5888344, 0.99266374]]
    np.testing.assert_allclose(paddle.nn.Linear(2, 2).weight.numpy(), expected, rtol=1e-6)


def test_recorded_draws():
    paddle.seed(100)
    np.testing.assert_allclose(paddle.rand([3]).numpy(), [0.5535528, 0.20714243, 0.01162981], rtol=1e-6)
    paddle.seed(100)
    expected = [-1.416615, 0.25904641, 0.00979547, -0.3032423, -1.3425676]
    np.testing.assert_allclose(paddle.randn([5]).numpy(), expected, rtol=1e-5)
    paddle.seed(100)
    assert paddle.randint(0, 10, [10]).tolist() == [5, 2, 0, 5, 3, 2, 1, 5, 0, 7]
    paddle.seed(100)
    assert paddle.randperm(10).tolist() == [5, 1, 9, 8, 7, 4, 0, 2, 6, 3]
    paddle.seed(100)
    kept = paddle.nn.functional.dropout(paddle.ones([10]), 0.5).tolist()
    assert kept == [2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0]


def test_the_stream_does_not_depend_on_how_it_is_cut():
    whole = Generator(7).words(1000)
    generator = Generator(7)
    np.testing.assert_array_equal(np.concatenate([generator.words(n) for n in (1, 311, 2, 400, 286)]), whole)


def test_state_can_be_put_back():
    paddle.seed(5)
    paddle.rand([10])
    state = paddle.get_rng_state()
    first = paddle.randn([4]).numpy()
    paddle.set_rng_state(state)
    np.testing.assert_array_equal(first, paddle.randn([4]).numpy())


def test_counts_of_a_multinomial_are_spread_over_its_categories():
    """Recorded from Paddle 2.6.2."""
    drawn = paddle.distribution.Multinomial(10, paddle.to_tensor([[0.2, 0.3], [0.5, 0.6]]))
    assert isinstance(drawn.probs, paddle.static.Variable)
    for value, expected in (([0.9], [-0.68973327, -0.6604625]), ([2.0, 8.0], [-2.1125236, -2.6193385])):
        np.testing.assert_allclose(drawn.log_prob(paddle.to_tensor(value)).numpy(), expected, rtol=1e-6)


def test_distributions():
    paddle.seed(1)
    values = paddle.randn([20000], dtype="float64").numpy()
    assert abs(values.mean()) < 0.03
    assert abs(values.std() - 1) < 0.03
    assert sorted(paddle.randperm(101).tolist()) == list(range(101))


@pytest.mark.skipif(random.native is None, reason="NumPy's logarithm is another one")
def test_draws_are_paddles_to_the_last_bit():
    """Recorded from 2.6.2 under Linux, where the C library computes the logarithm."""
    paddle.seed(7)
    last = [float.hex(each) for each in paddle.randn([100000]).numpy()[-3:].tolist()]
    assert last == ["0x1.7170ae0000000p-2", "-0x1.54b70a0000000p+0", "-0x1.7c35380000000p-1"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numpy_draws_what_the_native_module_draws(kind, monkeypatch):
    def draws():
        generator = Generator(11)
        return [
            generator.normal(1001, 0.5, 2.0, kind),
            generator.uniform(313, -1.0, 3.0, kind),
            generator.words(5),
            generator.integers(9, -3, 2**40),
            generator.permutation(100),
        ]

    native = draws()
    monkeypatch.setattr(random, "native", None)
    for fast, slow in zip(native, draws(), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-6)
