"""Layers other than the GRU, against sums of squares recorded from MXNet 1.9.1, as arrays and as graphs."""

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, nd
from anygru_mxnet.gluon import nn, rnn


def ones(*shape, scale=1):
    return nd.ones(shape) * scale


# layer, shape of the input, states, sums of squares of all results, of the input's gradient, and of the parameters' gradients
RECORDED = [
    (lambda: rnn.LSTM(3, 2, bidirectional=True), (4, 2, 5), None, 1.26291, 0.0039, [0.0070, 0.0006, 0.0103, 0.0103]),
    (lambda: rnn.LSTM(3, layout="NTC"), (2, 4, 5), lambda: [ones(1, 2, 3), ones(1, 2, 3, scale=0.5)],
     2.04657, 1.0420, [2.8941, 1.6710, 9.5230, 9.5230]),
    (lambda: rnn.RNN(3, 2, "relu"), (4, 2, 5), lambda: ones(2, 2, 3), 1.00747, 2.2670, [8.9184, 0.5568, 3.2427, 3.2427]),
    (lambda: rnn.RNN(3, 1, "tanh", bidirectional=True), (4, 2, 5), None,
     8.69500, 7.5781, [54.3237, 2.6313, 11.6139, 11.6139]),
    (lambda: rnn.LSTMCell(3), (2, 5), lambda: [ones(2, 3), ones(2, 3, scale=0.5)],
     2.00377, 0.6325, [1.1874, 5.2604, 1.7535, 1.7535]),
    (lambda: rnn.RNNCell(3, activation="relu"), (2, 5), lambda: [ones(2, 3)],
     0.40224, 1.3079, [6.9193, 10.1037, 3.3679, 3.3679]),
    (lambda: nn.Conv1D(4, 3, 2, 1, 2, groups=2), (2, 4, 11), None, 7.56740, 18.9141, [234.4388, 68.3098]),
    (lambda: nn.Conv2D(4, (3, 2), padding=(1, 0), activation="tanh"), (2, 4, 5, 6), None,
     59.80196, 113.8075, [10995.3877, 77.3957]),
    (lambda: nn.Conv2DTranspose(4, 3, strides=2, padding=1, output_padding=1, in_channels=3), (2, 3, 4, 4), None,
     118.37241, 881.7638, [13844.1914, 16502.2012]),
    (lambda: nn.Conv1DTranspose(4, 3, in_channels=3, use_bias=False), (2, 3, 4), None, 8.27417, 35.9334, [376.1250]),
    (lambda: nn.Conv3D(2, 2), (1, 2, 3, 3, 3), None, 13.71223, 63.5170, [1592.2632, 274.1760]),
    (lambda: nn.MaxPool2D(), (1, 2, 5, 5), None, 5.32072, 21.2829, []),
    (lambda: nn.MaxPool2D(3, 2, 1, ceil_mode=True), (1, 2, 6, 6), None, 24.12943, 238.4903, []),
    (lambda: nn.AvgPool2D(3, 2, 1, ceil_mode=True), (1, 2, 6, 6), None, 0.72976, 0.2950, []),
    (lambda: nn.AvgPool2D(3, 2, 1, count_include_pad=False), (1, 2, 6, 6), None, 0.56636, 0.4273, []),
    (lambda: nn.AvgPool1D(3, 2, 1), (1, 2, 7), None, 2.11933, 3.0933, []),
    (lambda: nn.GlobalAvgPool1D(), (1, 2, 7), None, 0.08308, 0.0475, []),
    (lambda: nn.GlobalMaxPool2D(), (1, 2, 3, 4), None, 1.95778, 7.8311, []),
    (lambda: nn.GroupNorm(2), (2, 4, 3), None, 1.07691, 0.0000, [26.4402, 25.2507]),
    (lambda: nn.ReflectionPad2D(1), (1, 2, 3, 4), None, 25.52340, 336.5234, []),
]  # fmt: skip


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(("make", "shape", "states", "result", "of_input", "of_parameters"), RECORDED)
def test_results_and_gradients(make, shape, states, result, of_input, of_parameters, hybrid):
    layer = make()
    layer.initialize()
    x = nd.array(np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape))
    x.attach_grad()
    more = () if states is None else (states(),)
    layer(x, *more)
    draws = np.random.RandomState(3)
    for parameter in layer.collect_params().values():
        parameter.set_data(nd.array(draws.uniform(-0.5, 0.5, parameter.shape)))
    if hybrid:
        layer.hybridize()
    with autograd.record():
        found = layer(x, *more)
        outputs = [found] if states is None else [found[0], *found[1]]
        loss = sum((output * output).sum() for output in outputs)
    loss.backward()

    def squares(array):
        return float((array.asnumpy().astype("float64") ** 2).sum())

    assert sum(map(squares, outputs)) == pytest.approx(result, rel=1e-4)
    assert squares(x.grad) == pytest.approx(of_input, rel=1e-4, abs=1e-4)
    gradients = [squares(p.grad()) for p in layer.collect_params().values()]
    assert gradients[: len(of_parameters)] == pytest.approx(of_parameters, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("mode", ["lstm", "rnn_tanh", "rnn_relu"])
def test_lengths_end_each_sequence(mode):
    layer = {"lstm": rnn.LSTM, "rnn_tanh": lambda *a, **k: rnn.RNN(*a, "tanh", **k), "rnn_relu": rnn.RNN}[mode](
        3, 2, bidirectional=True, input_size=2, use_sequence_length=True
    )
    layer.initialize(mx.init.Uniform(0.5))
    x = nd.random.uniform(shape=(4, 2, 2))
    output, states = layer(x, layer.begin_state(2), nd.array([2, 4]))
    short, short_states = layer(x[:2, 0:1], layer.begin_state(1), nd.array([2]))
    np.testing.assert_allclose(output.asnumpy()[:2, :1], short.asnumpy(), rtol=1e-5)
    assert not output.asnumpy()[2:, 0].any()
    for whole, part in zip(states, short_states, strict=True):
        np.testing.assert_allclose(whole.asnumpy()[:, :1], part.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize(("layer", "cells"), [(rnn.LSTM, rnn.LSTMCell), (rnn.RNN, rnn.RNNCell), (rnn.GRU, rnn.GRUCell)])
def test_a_layer_is_its_cells_one_after_the_other(layer, cells):
    fused = layer(3, 2, layout="NTC", input_size=2, prefix="f_")
    fused.initialize(mx.init.Uniform(0.5))
    stack = fused._unfuse()
    assert isinstance(stack[0], cells)
    x = nd.random.uniform(shape=(2, 4, 2))
    whole, _ = stack.unroll(4, x, merge_outputs=True)
    np.testing.assert_allclose(fused(x).asnumpy(), whole.asnumpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("hybrid", [False, True])
def test_dense_layers_of_a_vector_wait_for_its_size(hybrid):
    """Its elements are features with `flatten=False`, and rows without: as in MXNet 1.9.1 (recorded)."""
    net = nn.HybridSequential()
    net.add(nn.Dense(3, flatten=False), nn.Dense(2, flatten=False))
    net.initialize("ones")
    if hybrid:
        net.hybridize()
    assert net(nd.ones((4,))).asnumpy().tolist() == [12, 12]
    rows = nn.Dense(3)
    rows.initialize("ones")
    assert rows(nd.ones((4,))).shape == (4, 3)
    assert rows.weight.shape == (3, 1)


@pytest.mark.parametrize("layer", [rnn.GRU, rnn.LSTM, rnn.RNN])
@pytest.mark.parametrize(
    ("sizes", "options", "error"),
    [
        (("3",), {}, TypeError),
        ((3.0,), {}, mx.MXNetError),
        ((3,), {"input_size": "4"}, TypeError),
        ((3,), {"input_size": 5}, mx.MXNetError),
        ((3,), {"dropout": 2}, ValueError),
    ],
)
def test_sizes_that_do_not_fit_raise_mxnets_classes(layer, sizes, options, error):
    def run():
        made = layer(*sizes, **options)
        made.initialize()
        return made(nd.ones((2, 2, 4)))

    with pytest.raises(error):
        run()


def test_an_axis_that_an_array_does_not_have_cannot_be_split():
    for cut in (2, (1, 3)):
        with pytest.raises(IndexError):
            nd.split_v2(nd.ones((6, 1)), cut, axis=2)
