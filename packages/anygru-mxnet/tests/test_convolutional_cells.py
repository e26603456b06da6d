"""The convolutional cells of `gluon.contrib.rnn` have MXNet 1.9.1's results (recorded)."""

import inspect
import math
import pickle

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd

cells = gluon.contrib.rnn


def waves(shape, function, stretch=1.0, start=0):
    return nd.array(function(np.arange(math.prod(shape)) * stretch + start).reshape(shape))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    ("kind", "axes", "options", "loss", "of_input", "of_state_weight"),
    [
        ("RNN", 1, {}, 45.028, 7.633, 17.747),
        ("RNN", 1, {"activation": "relu"}, 69.169, 28.257, 132.465),
        ("LSTM", 1, {}, 7.482, 1.975, 2.272),
        ("LSTM", 2, {}, 21.918, 6.218, 9.997),
        ("LSTM", 2, {"activation": "softsign"}, 6.684, 1.209, 1.685),
        ("GRU", 1, {}, 14.443, 3.460, 3.739),
        ("GRU", 2, {}, 58.246, 12.505, 27.682),
        ("GRU", 3, {"activation": "softsign"}, 178.791, 62.406, 68.302),
    ],
)
def test_the_sum_of_squares_and_its_gradients(kind, axes, options, loss, of_input, of_state_weight, hybrid):
    shape = (2, 7, 6, 5)[: axes + 1]
    cell = getattr(cells, f"Conv{axes}D{kind}Cell")(shape, 3, 3, (3,) * axes, i2h_pad=(1,) * axes, **options)
    cell.initialize()
    for place, parameter in enumerate(cell.collect_params().values()):
        parameter.set_data(waves(parameter.shape, np.sin, 0.7, place) * 0.4)
    if hybrid:
        cell.hybridize()
    x = waves((2, 3, *shape), np.cos)
    x.attach_grad()
    with autograd.record():
        outputs, states = cell.unroll(3, x, layout="NTC", merge_outputs=True)
        squares = (outputs * outputs).sum()
    squares.backward()
    assert outputs.shape == (2, 3, 3, *shape[1:])
    assert len(states) == (2 if kind == "LSTM" else 1)
    assert squares.asscalar() == pytest.approx(loss, rel=1e-4)
    assert x.grad.norm().asscalar() == pytest.approx(of_input, rel=1e-3)
    assert cell.h2h_weight.grad().norm().asscalar() == pytest.approx(of_state_weight, rel=1e-3)


def test_kernels_without_padding_make_the_state_smaller():
    cell = cells.Conv2DLSTMCell((2, 7, 6), 4, (2, 2), 5, i2h_dilate=2, h2h_dilate=2)
    assert [info["shape"] for info in cell.state_info(3)] == [(3, 4, 5, 4)] * 2
    assert str(cell) == "Conv2DLSTMCell(2 -> 16, tanh, NCHW)"
    assert cell.prefix.startswith("conv_lstm")


def test_a_graph_has_mxnets_names():
    outputs, _ = cells.Conv1DGRUCell((3, 8), 4, 3, 3, i2h_pad=1, prefix="g_").unroll(
        2, [mx.sym.var("a"), mx.sym.var("b")]
    )
    whole = mx.sym.Group(outputs)
    weights = ["g_i2h_weight", "g_i2h_bias", "g_h2h_weight", "g_h2h_bias"]
    assert whole.list_outputs() == ["g_t0_out_output", "g_t1_out_output"]
    assert sorted(whole.list_arguments()) == sorted(["a", "b", *weights])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((3, 8, 8), 4, 3, 2), "Only support odd number, get h2h_kernel= 2"),
        (((3, 8, 8), 4, (3,), 3), "either int or list/tuple of length 2"),
    ],
)
def test_kernels_that_fit_no_cell_are_refused(arguments, message):
    with pytest.raises(AssertionError, match=message):
        cells.Conv2DGRUCell(*arguments)


def test_channels_come_first():
    with pytest.raises(AssertionError, match="only 'NCHW' is covered"):
        cells.Conv2DGRUCell((8, 8, 3), 4, 3, 3, conv_layout="NHWC")


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(("axes", "layout"), [(1, "NCW"), (2, "NCHW"), (3, "NCDHW")])
def test_help_shows_mxnets_defaults(kind, axes, layout):
    cell = getattr(cells, f"Conv{axes}D{kind}Cell")
    taken = inspect.signature(cell).parameters
    defaults = {name: taken[name].default for name in ("i2h_pad", "i2h_dilate", "h2h_dilate", "conv_layout")}
    one, zero = (1,) * axes, (0,) * axes
    assert defaults == {"i2h_pad": zero, "i2h_dilate": one, "h2h_dilate": one, "conv_layout": layout}
    assert "i2h_kernel, h2h_kernel: sizes of the kernels" in cell.__doc__
    assert cell.__name__ == cell.__qualname__ == f"Conv{axes}D{kind}Cell"
    assert pickle.loads(pickle.dumps(cell)) is cell
    with pytest.raises(TypeError, match="i2h_kernels"):
        cell((2, *[8] * axes), 3, i2h_kernels=3, h2h_kernel=3)
