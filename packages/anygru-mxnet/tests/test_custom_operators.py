"""Operators written in Python, on arrays and in graphs; the numbers are MXNet 1.9.1's (recorded)."""

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd, sym
from anygru_mxnet.base import MXNetError

made = []


class Op(mx.operator.CustomOp):
    def __init__(self, scale):
        super().__init__()
        self.scale, self.calls = scale, 0
        made.append(self)

    def forward(self, is_train, req, in_data, out_data, aux):
        self.calls += 1
        self.assign(out_data[0], req[0], nd.sigmoid(in_data[0] * self.scale))
        self.assign(out_data[1], req[1], in_data[0] * 0 + self.calls)
        if is_train:
            aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], (out_data[0] - in_data[1]) * self.calls)


@mx.operator.register("anygru_test_loss")
class Prop(mx.operator.CustomOpProp):
    def __init__(self, scale="2"):
        super().__init__(need_top_grad=False)
        self.scale = float(scale)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["prob", "count"]

    def list_auxiliary_states(self):
        return ["moving_mean"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0], in_shape[0]], [[1]]

    def create_operator(self, ctx, shapes, dtypes):
        return Op(self.scale)


class Ones(mx.init.Initializer):
    def __call__(self, desc, arr):
        arr[:] = 1


def graph(**options):
    data = sym.FullyConnected(sym.var("data"), num_hidden=2, name="f")
    return sym.Custom(data, sym.var("label"), op_type="anygru_test_loss", name="loss", **options)


def test_a_graph_names_what_the_operator_has():
    symbol = graph(scale=3)
    assert symbol.list_arguments() == ["data", "f_weight", "f_bias", "label"]
    assert symbol.list_outputs() == ["loss_prob", "loss_count"]
    assert symbol.list_auxiliary_states() == ["loss_moving_mean"]
    assert symbol.infer_shape(data=(2, 3)) == ([(2, 3), (2, 3), (2,), (2, 2)], [(2, 2), (2, 2)], [(1,)])
    assert sym.load_json(symbol.tojson()).list_outputs() == symbol.list_outputs()
    with mx.name.NameManager():
        alone = sym.Custom(data=sym.var("x"), op_type="anygru_test_loss")
    assert alone.list_arguments() == ["x", "custom0_label"]


def test_a_module_trains_with_one_operator_for_each_executor():
    made.clear()
    module = mx.mod.Module(graph(scale=3), label_names=["label"])
    module.bind([("data", (2, 3))], [("label", (2, 2))])
    module.init_params(Ones())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    batch = mx.io.DataBatch([nd.array([[1, 2, 3], [-1, 0, 0.5]])], [nd.array([[0, 1], [1, 0]])])
    for _ in range(3):
        module.forward_backward(batch)
        module.update()
    module.forward(batch, is_train=False)
    prob, count = (output.asnumpy() for output in module.get_outputs())
    np.testing.assert_allclose(prob, [[0.9996, 1.0], [0.65, 0.5063]], atol=5e-5)
    np.testing.assert_array_equal(count, np.full((2, 2), 4))
    arguments, states = module.get_params()
    np.testing.assert_allclose(
        arguments["f_weight"].asnumpy(), [[0.6305, 0.4, 0.1347], [1.2185, 1.0, 0.8908]], atol=5e-5
    )
    np.testing.assert_allclose(arguments["f_bias"].asnumpy(), [0.7695, 0.7815], atol=5e-5)
    assert states["loss_moving_mean"].asscalar() == 4
    assert len(made) == 1


@pytest.mark.parametrize("hybrid", [False, True])
def test_each_call_of_a_block_has_an_operator_of_its_own(hybrid):
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y, mean):
            return F.Custom(x, y, mean, op_type="anygru_test_loss", scale=1)[0] * 2

    made.clear()
    net = Net()
    net.hybridize(hybrid)
    x = nd.array([[1, 2.0]])
    x.attach_grad()
    with autograd.record():
        loss = net(x, nd.zeros((1, 2)), nd.zeros((1,))) + net(x * 2, nd.zeros((1, 2)), nd.zeros((1,)))
    loss.backward()
    np.testing.assert_allclose(loss.asnumpy(), [[3.2237, 3.7256]], atol=5e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), [[2.4927, 2.8448]], atol=5e-5)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("inputs", "named", "error"),
    [
        ((), {"op_type": "absent"}, MXNetError),
        ((sym.var("x"),), {"label": sym.var("y")}, TypeError),
        ([sym.var("x")] * 4, {}, MXNetError),
        ((), {"foo": sym.var("x")}, MXNetError),
    ],
)
def test_inputs_that_an_operator_does_not_have_are_refused(inputs, named, error):
    with pytest.raises(error):
        sym.Custom(*inputs, **{"op_type": "anygru_test_loss", **named})
