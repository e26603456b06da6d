"""Arguments have MXNet's names, places and defaults: found by comparing signatures with MXNet 1.9.1's, values recorded."""

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import nd, npx
from anygru_mxnet import np as mnp
from anygru_mxnet.gluon import contrib, nn

A, S = nd.array([[1, 2], [3, 4]]), mx.sym.var("s")
TWO = [[1, 4], [9, 16]]
VALUES = {
    "nd.power": (lambda: nd.power(base=A, exp=2), TWO),
    "sym.power": (lambda: mx.sym.power(base=S, exp=2).eval(s=A)[0], TWO),
    "sym.pow": (lambda: mx.sym.pow(base=2, exp=S).eval(s=A)[0], [[2, 4], [8, 16]]),
    "slice_assign_scalar": (
        lambda: A.copy().slice_assign_scalar(value=5.0, begin=(0, 0), end=(1, 1), step=(1, 1)),
        [[5, 2], [3, 4]],
    ),
    "all_finite": (lambda: nd.all_finite(data=A, init_output=True, name="x"), [1]),
    "contrib.allclose": (lambda: nd.contrib.allclose(A, A, rtol=0.1, atol=0.1, equal_nan=True, name="q"), 1),
    "from_numpy": (lambda: nd.from_numpy(np.ones(2, "float32"), array_cls=mnp.ndarray) * 2, [2, 2]),
    "sym.expand_dims": (lambda: S.expand_dims(axis=0, inplace=True).eval(s=nd.ones(2))[0], [[1, 1]]),
    "sym.squeeze": (lambda: S.squeeze(axis=0, inplace=True).eval(s=nd.ones((1, 2)))[0], [1, 1]),
    "sym.flatten": (lambda: S.flatten(inplace=True).eval(s=nd.ones((1, 2, 1)))[0], [[1, 1]]),
    "sym.arange": (lambda: mx.sym.arange(0, 4, 2.0, 1, False, "ar").eval()[0], [0, 2]),
    "np.random.choice": (lambda: mnp.random.choice(1, size=(2,), out=mnp.ones((2,), dtype="int64")), [0, 0]),
    "np.random.randint": (lambda: mnp.random.randint(0, 1, (2,), out=mnp.ones((2,), dtype="int64")), [0, 0]),
    "as_in_ctx": (lambda: mnp.ones((1,)).as_in_ctx(ctx=mx.cpu()), [1]),
    "reshape_view": (lambda: mnp.ones((2, 1)).reshape_view(-1), [1, 1]),
    "sync_state_context": (
        lambda: mx.optimizer.get_updater(mx.optimizer.SGD()).sync_state_context((A,), mx.cpu())[0],
        [[1, 2], [3, 4]],
    ),
}
OTHERS = {
    "np.size": (lambda: mnp.size(mnp.ones((3, 2)), axis=1), 2),
    "metric.PCC": (lambda: mx.metric.PCC("p", None, None, False).get_global()[0], "p"),
    "metric.register": (
        lambda: (mx.metric.register(mx.metric.MAE, "other"), type(mx.metric.create("other")).__name__)[1],
        "MAE",
    ),
    "DataDesc.get_list": (
        lambda: [(d.name, d.shape, d.dtype) for d in mx.io.DataDesc.get_list([("a", (1, 2))], [("a", "int32")])],
        [("a", (1, 2), "int32")],
    ),
    "DataDesc.get_list without types": (lambda: mx.io.DataDesc.get_list([("a", (1,))], None)[0].dtype, np.float32),
    "NDArrayIter": (lambda: mx.io.NDArrayIter(np.ones((4, 2)), layout="NTC").provide_data[0].layout, "NTC"),
    "NDArrayIter.getpad": (lambda: mx.io.NDArrayIter(np.ones((4, 2)), batch_size=2).getpad(), 0),
    "num_source": (lambda: mx.io.NDArrayIter(np.ones((4, 2)), np.ones(4)).num_source, 2),
    "begin_state": (lambda: len(mx.rnn.ZoneoutCell(mx.rnn.GRUCell(3)).begin_state(init_sym=mx.sym.zeros)), 1),
    "NotImplementedForSymbol": (
        lambda: str(mx.base.NotImplementedForSymbol(nd.power, "pow", 1)),
        "Function power (namely operator \"pow\") with arguments (<class 'int'>) is not implemented for Symbol and "
        "only available in NDArray.",
    ),
    "Conv2DTranspose": (
        lambda: repr(nn.Conv2DTranspose(2, 3)),
        "Conv2DTranspose(2 -> 0, kernel_size=(3, 3), stride=(1, 1))",
    ),
    "LSTMPCell": (
        lambda: list(contrib.rnn.LSTMPCell(5, 3, prefix="").collect_params()),
        ["i2h_weight", "h2h_weight", "h2r_weight", "i2h_bias", "h2h_bias"],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_arrays_from_named_arguments(name):
    call, expected = VALUES[name]
    found = call().asnumpy()
    assert found.tolist() == expected


@pytest.mark.parametrize("name", OTHERS)
def test_results_from_named_arguments(name):
    call, expected = OTHERS[name]
    assert call() == expected


def test_files_of_npx(tmp_path):
    npx.save(file=str(tmp_path / "a"), arr={"x": mnp.ones((2,))})
    assert npx.load(file=str(tmp_path / "a"))["x"].asnumpy().tolist() == [1, 1]


def test_what_mxnet_refuses():
    with pytest.raises(DeprecationWarning):
        mx.optimizer.SGD().set_lr_scale({})
    with pytest.raises(NotImplementedError, match="must come first"):
        mx.io.NDArrayIter(np.ones((4, 2)), layout="TNC")
    with pytest.raises(mx.base.NotImplementedForSymbol, match="Function asnumpy is"):
        S.asnumpy()
