"""An argument that is accepted has MXNet's effect, or is refused; numbers and errors recorded from MXNet 1.9.1."""

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import nd, sym
from anygru_mxnet.base import MXNetError


@pytest.mark.parametrize(
    ("axis", "ignored", "expected"),
    [(-1, None, 3.17480211), (0, None, 2.37126222), (-2, None, 2.37126222), (0, 2, 2.0)],
)
def test_perplexity_takes_probabilities_along_its_axis(axis, ignored, expected):
    metric = mx.metric.Perplexity(ignored, axis=axis)
    metric.update([nd.array([0, 2, 2])], [nd.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.2, 0.3, 0.5]])])
    assert metric.get()[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("axis", "shape"), [(0, (4, 3)), (2, (3, 3)), (None, (3, 3)), (-1, (2, 2, 3))])
def test_perplexity_refuses_an_axis_that_does_not_fit_the_labels(axis, shape):
    with pytest.raises(MXNetError):
        mx.metric.Perplexity(None, axis=axis).update([nd.zeros(shape[:-1])], [nd.ones(shape)])


X, ONES = nd.arange(12).reshape((3, 4)), nd.ones
CUBE = nd.arange(24).reshape((2, 3, 2, 2))
REFUSED = {
    "softmax with lengths it does not use": lambda: nd.softmax(X, ONES(3)),
    "log_softmax with lengths that have no place": lambda: nd.log_softmax(X, use_length=True),
    "a mask without use_sequence_length": lambda: nd.SequenceMask(X, ONES(4)),
    "a mask of symbols without use_sequence_length": lambda: sym.SequenceMask(sym.var("a"), sym.var("b")),
    "SequenceReverse along another axis": lambda: nd.SequenceReverse(X, axis=1),
    "lengths for CTC that it does not use": lambda: nd.CTCLoss(ONES((4, 2, 3)), ONES((2, 2)), ONES(2)),
    "no lengths for CTC that uses them": lambda: nd.CTCLoss(ONES((4, 2, 3)), ONES((2, 2)), use_data_lengths=True),
    "more labels for CTC than steps": lambda: nd.CTCLoss(ONES((2, 1, 4)), nd.array([[1, 0, 0]])),
    "places from the end": lambda: nd.take(ONES(2), nd.array([-1]), mode="raise"),
    "pick's mode": lambda: nd.pick(X, ONES(3), mode="raise"),
    "parts from behind the first place": lambda: nd._internal._split_v2(ONES(6), indices=(2, 4), axis=0),
    "an output of another shape": lambda: nd.random.uniform(shape=2, out=ONES(3)),
    "a norm without its power": lambda: nd.Pooling(ONES((1, 1, 4)), kernel=(2,), pool_type="lp"),
    "another power": lambda: nd.Pooling(ONES((1, 1, 4)), kernel=(2,), pool_type="lp", p_value=4),
    "a dropout of more than all": lambda: nd.Dropout(X, p=1.5),
    "a bias beside no_bias": lambda: nd.FullyConnected(X, ONES((2, 4)), ONES(2), num_hidden=2, no_bias=True),
    "a dense layer without its size": lambda: nd.FullyConnected(X, ONES((2, 4)), ONES(2)),
    "a cell state for GRU": lambda: nd.RNN(
        ONES((4, 2, 3)), ONES(42), ONES((1, 2, 2)), ONES((1, 2, 2)), state_size=2, num_layers=1, mode="gru"
    ),
    "another kernel than the weight's": lambda: nd.Convolution(
        ONES((1, 1, 4)), ONES((2, 1, 3)), kernel=(2,), num_filter=2, no_bias=True
    ),
    "more filters than the weight's": lambda: nd.Deconvolution(
        ONES((1, 1, 4)), ONES((1, 2, 3)), kernel=(3,), num_filter=3, no_bias=True
    ),
    "another table than the weight": lambda: nd.Embedding(ONES(2), ONES((5, 2)), input_dim=4, output_dim=2),
    "wider rows than the weight's": lambda: nd.Embedding(ONES(2), ONES((5, 2)), input_dim=5, output_dim=3),
    "labels of fewer rows": lambda: nd.SoftmaxOutput(X, ONES(2)),
    "targets of another shape": lambda: nd.LinearRegressionOutput(X, ONES((3, 3))),
    "more arrays than given": lambda: nd.concat(X, X, num_args=3, dim=0),
    "fewer arrays than given": lambda: nd.stack(X, X, num_args=1),
    "a convolution's attribute of a sum": lambda: nd.sum(X, workspace=3),
    "such an attribute of a symbol": lambda: sym.sum(sym.var("a"), workspace=3),
    "an attribute of other rules": lambda: nd.ftrl_update(X, X, X.copy(), X.copy(), lr=0.1, lazy_update=False),
    "rows in the columns' axis": lambda: nd.linalg.gemm2(CUBE, CUBE, axis=-1),
    "rows in an axis that is not there": lambda: nd.linalg.gemm2(CUBE, CUBE, axis=7),
    "a draw's unknown argument": lambda: nd.random.uniform(shape=(1,), bogus=3),
    "a choice's unknown argument": lambda: nd.random.multinomial(ONES(2), bogus=1),
    "shapes held without memory": lambda: mx.gluon.nn.HybridSequential().hybridize(static_shape=True),
    "a sparse product": lambda: nd.dot(X, X.T, forward_stype="csr"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_mxnet_refuses(case):
    with pytest.raises(MXNetError):
        REFUSED[case]()


@pytest.mark.parametrize(
    ("axis", "equation"), [(1, "nrbk,nsbk->nrbs"), (0, "rnbk,snbk->rnbs"), (-3, "nrbk,nsbk->nrbs")]
)
def test_products_take_rows_along_their_axis(axis, equation):
    other = nd.arange(24, 0, -1).reshape((2, 3, 2, 2))
    expected = np.einsum(equation, CUBE.asnumpy(), other.asnumpy())
    found = nd.linalg.gemm2(CUBE, other, transpose_b=True, alpha=2, axis=axis)
    assert found.asnumpy().tolist() == (2 * expected).tolist()
    sums = nd.linalg.gemm(CUBE, other, nd.array(expected), transpose_b=True, beta=3, axis=axis)
    assert sums.asnumpy().tolist() == (4 * expected).tolist()


def test_attributes_of_a_symbol_and_what_it_reads():
    with pytest.raises(DeprecationWarning, match="attr_dict"):
        sym.var("a").list_attr(recursive=True)


def test_attributes_that_concern_other_devices_or_early_files():
    zeros = X * 0
    plain, lazy = (nd.sgd_mom_update(X, X, zeros.copy(), lr=0.1, **more) for more in ({}, {"lazy_update": False}))
    assert plain.asnumpy().tolist() == lazy.asnumpy().tolist()
    assert nd.BatchNorm(X, ONES(4), ONES(4), ONES(4), ONES(4), cudnn_off=True, min_calib_range=1).shape == (3, 4)
    assert nd.Reshape(X, target_shape=(0, 2)).shape == (6, 2)
    assert nd.Reshape(X, target_shape=(0, 2, 0), keep_highest=True).shape == (3, 2, 2)
    assert nd.Reshape(X, shape=(2, 6), keep_highest=True).shape == (2, 6)


def test_the_optimizer_for_tests_takes_nothing_but_rescale_grad():
    rule = mx.optimizer.create("test", wd=0.5, rescale_grad=2.0, clip_gradient=0.01)
    weight, gradient = nd.array([1.0, 2.0]), nd.array([0.5, -1.0])
    mx.optimizer.get_updater(rule)(0, gradient, weight)
    assert weight.asnumpy().tolist() == [2.0, 0.0]
    assert rule.num_update == 0
