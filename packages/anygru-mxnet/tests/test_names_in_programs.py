"""Names that public programs use with a GRU. Numbers are recorded from MXNet 1.9.1 on the CPU."""

import ast
import threading

import numpy as np
import pytest
import torch

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd
from anygru_mxnet.base import MXNetError
from anygru_mxnet.gluon import nn


def test_an_lstm_with_a_projection(tmp_path):
    layer = gluon.rnn.LSTM(4, 2, projection_size=3, bidirectional=True, input_size=2, prefix="x_")
    layer.initialize(mx.init.Xavier())
    rng = np.random.RandomState(0)
    for parameter in layer.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-1, 1, parameter.shape)))
    data = nd.array(rng.uniform(-1, 1, (3, 2, 2)))
    output, (state, cell) = layer(data, layer.begin_state(2))
    assert (state.shape, cell.shape) == ((4, 2, 3), (4, 2, 4))
    expected = [-0.16102493, 0.06809491, -0.01898778, -0.23234726, 0.18305483, 0.18173322]
    np.testing.assert_allclose(output.asnumpy().ravel()[:6], expected, atol=1e-6)
    np.testing.assert_allclose(cell.asnumpy().ravel()[:4], [-0.31966075, 0.21118718, -0.18939136, 0.335339], atol=1e-6)
    layer.hybridize()
    np.testing.assert_allclose(layer(data).asnumpy(), output.asnumpy(), atol=1e-6)
    layer.save_parameters(str(tmp_path / "p"))
    assert "_unfused.1.r_cell.h2r_weight" in nd.load(str(tmp_path / "p"))
    deferred = gluon.rnn.LSTM(4, 2, projection_size=3)
    deferred.initialize()
    assert deferred(data).shape == (3, 2, 3)


class _Scaled(mx.operator.CustomOp):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1 / (1 + nd.exp(-in_data[0])))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y) * self.factor)


@mx.operator.register("anygru_test_scaled_sigmoid")
class _ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, factor="1"):
        super().__init__(need_top_grad=True)
        self.factor = float(factor)  # arguments arrive as texts

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Scaled(self.factor)


def test_operators_written_in_python():
    x = nd.array([[1.0, 2.0], [-1.0, 0.0]])
    x.attach_grad()
    with autograd.record():
        result = nd.Custom(x, op_type="anygru_test_scaled_sigmoid", factor=3)
        loss = (result * result).sum()
    loss.backward()
    expected = torch.tensor([[1.0, 2.0], [-1.0, 0.0]], requires_grad=True)
    (torch.sigmoid(expected) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * expected.grad.numpy(), rtol=1e-5)
    with pytest.raises(MXNetError, match="absent"):
        nd.Custom(x, op_type="absent")

    class Block(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(data=x, op_type="anygru_test_scaled_sigmoid") + 1

    block = Block()
    block.hybridize()
    np.testing.assert_allclose(block(x).asnumpy(), result.asnumpy() + 1)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("pad", [[([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]] * 3),
        ("discard", [[([0, 1, 2], 0), ([3, 4, 5], 0)]] * 3),
        (
            "roll_over",
            [
                [([0, 1, 2], 0), ([3, 4, 5], 0)],
                [([6, 0, 1], 1), ([2, 3, 4], 0)],
                [([5, 6, 0], 2), ([1, 2, 3], 0), ([4, 5, 6], 0)],
            ],
        ),
    ],
)
def test_batches_of_arrays(how, expected):
    batches = mx.io.NDArrayIter(np.arange(14.0).reshape(7, 2), np.arange(7), 3, last_batch_handle=how)
    assert [(d.name, d.shape, d.dtype) for d in batches.provide_data] == [("data", (3, 2), np.float32)]
    assert batches.provide_label == [("softmax_label", (3,))]
    for passed in expected:
        assert [(b.label[0].asnumpy().tolist(), b.pad) for b in batches] == passed
        batches.reset()


def test_shuffled_batches_of_named_arrays():
    np.random.seed(0)
    batches = mx.io.NDArrayIter({"a": np.arange(6.0), "b": nd.arange(6)}, batch_size=2, shuffle=True)
    seen = [batch.data for batch in batches]
    assert sorted(float(x) for a, _ in seen for x in a.asnumpy()) == [0, 1, 2, 3, 4, 5]
    assert all((a == b).asnumpy().all() for a, b in seen)
    with pytest.raises(TypeError, match="Input must be NDArray"):
        mx.io.NDArrayIter(3)


def test_a_loss_of_many_classes_has_the_gradients_of_its_two_operators():
    rng = np.random.RandomState(0)
    scores, labels = nd.array(rng.randn(300, 1000)), nd.array(rng.randint(0, 1000, 300))
    scores.attach_grad()
    with autograd.record():
        loss = gluon.loss.SoftmaxCELoss()(scores, labels)
    loss.backward()
    reference = torch.tensor(scores.asnumpy(), requires_grad=True)
    torch.nn.functional.cross_entropy(reference, torch.tensor(labels.asnumpy()).long(), reduction="sum").backward()
    np.testing.assert_allclose(scores.grad.asnumpy(), reference.grad.numpy(), atol=1e-6)


def test_second_derivatives_of_the_loss():
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 4, 2])
    compute = mx.ndarray.register.OPERATORS["pick"].compute  # the same, without the loss's own way
    from anygru_mxnet.operators.neural import picked_log_softmax

    for function in (lambda v: picked_log_softmax(v, labels), lambda v: compute(torch.log_softmax(v, -1), labels)):
        assert torch.autograd.gradgradcheck(function, (x,))


def test_blocks_are_loaded_in_their_order_whatever_their_keys(tmp_path):
    def stack(prefix):
        outer = nn.Sequential(prefix=prefix)
        outer._children["second" + prefix] = nn.Dense(2, in_units=3, prefix=prefix + "a_")
        outer._children["first" + prefix] = nn.Dense(4, in_units=2, prefix=prefix + "b_")
        return outer

    one, other = stack("x_"), stack("y_")
    one.initialize(mx.init.Uniform(1))
    one.save(str(tmp_path / "model"))
    other.load(str(tmp_path / "model"))
    assert (one(nd.ones((1, 3))) == other(nd.ones((1, 3)))).asnumpy().all()


def test_values_in_force_can_be_set_on_the_class_for_a_thread():
    seen = []

    def set_own():
        mx.Context.default_ctx = mx.cpu(3)
        mx.name.NameManager.current = mx.name.Prefix("own_")
        name = (mx.sym.var("a") + 1).name
        mx.AttrScope.current = mx.AttrScope(x="1")
        seen.append((mx.current_context(), mx.AttrScope.current.get(None), name))

    thread = threading.Thread(target=set_own)
    thread.start()
    thread.join()
    ((context, attributes, name),) = seen
    assert (context, attributes) == (mx.cpu(3), {"x": "1"})
    assert name.startswith("own_")
    assert mx.Context.default_ctx == mx.cpu(0)
    assert mx.AttrScope.current.get(None) == {}


def test_a_parameter_that_copies_another_one_as_gluon_nlp_does():
    layer = nn.Dense(2, in_units=3)
    layer.initialize(ctx=[mx.cpu(0), mx.cpu(1)])

    class Doubled(gluon.Parameter):
        def __init__(self, p):
            super().__init__(p.name, shape=p._shape)
            self._data, self._grad, self._ctx_list, self._ctx_map = p._data, p._grad, p._ctx_list, p._ctx_map

        def data(self, ctx=None):
            return 2 * self._check_and_get(self._data, ctx)

    before = layer.weight.data(mx.cpu(1))
    doubled = Doubled(layer.weight)
    assert (doubled.data(mx.cpu(1)) == 2 * before).asnumpy().all()
    with pytest.raises(RuntimeError, match="was not initialized on context"):
        doubled.data(mx.cpu(2))


def test_not_a_number_is_the_larger_and_the_smaller():
    a, b = nd.array([np.nan, 1, 2]), nd.array([1, np.nan, 3])
    np.testing.assert_array_equal(nd.maximum(a, b).asnumpy(), [np.nan, np.nan, 3])
    np.testing.assert_array_equal(nd.minimum(a, b).asnumpy(), [np.nan, np.nan, 2])


def test_graphs_under_numpy_semantics_say_so():
    with mx.np_shape(True):
        text = (mx.sym.var("a") + 1).tojson()
    assert text.endswith('"attrs": {\n    "is_np_shape": ["int", 1], \n    "mxnet_version": ["int", 10901]\n  }\n}')
    assert "is_np_shape" not in (mx.sym.var("a") + 1).tojson()
    assert mx.sym.load_json(text).list_arguments() == ["a"]


def test_classes_known_by_name():
    class Animal:
        def __init__(self, legs=4):
            self.legs = legs

    register = mx.registry.get_register_func(Animal, "animal")
    create = mx.registry.get_create_func(Animal, "animal")

    @mx.registry.get_alias_func(Animal, "animal")("puss", "Kitty")
    @register
    class Cat(Animal):
        pass

    assert set(mx.registry.get_registry(Animal)) == {"cat", "puss", "kitty"}
    assert create("CAT", 3).legs == 3
    assert create('["kitty", {"legs": 2}]').legs == 2
    assert create(animal="puss", legs=5).legs == 5
    cat = Cat()
    assert create(cat) is cat
    with pytest.raises(AssertionError, match="not registered"):
        create("dog")
    with pytest.raises(AssertionError, match="subclass of Animal"):
        register(int)


def test_local_files_of_models(tmp_path):
    store = gluon.model_zoo.model_store
    (tmp_path / "own_model-da39a3ee.params").write_bytes(b"")
    store._model_sha1["own_model"] = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    try:
        assert store.get_model_file("own_model", root=str(tmp_path)) == str(tmp_path / "own_model-da39a3ee.params")
    finally:
        del store._model_sha1["own_model"]
    with pytest.raises(ValueError, match="not available"):
        store.get_model_file("other_model")
    store.purge(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_cell_of_ones_own_finds_its_activation():
    class Cell(gluon.rnn.HybridRecurrentCell):
        def hybrid_forward(self, F, inputs, states):
            return self._get_activation(F, inputs, "softrelu", name="act"), states

    cell = Cell()
    np.testing.assert_allclose(cell(nd.zeros((1, 2)), [])[0].asnumpy(), np.log(2) * np.ones((1, 2)), rtol=1e-6)


# Weights after four steps, recorded from MXNet 1.9.1; row 0 and row 4 are never read.
ROWS = {
    ("sgd", "{'momentum': 0.9, 'wd': 0.1}"): [-0.16596, 0.44065, -0.27704, -0.10955, -0.30739, -0.35475],
    ("sgd", "{'momentum': 0.9, 'wd': 0.1, 'lazy_update': False}"): [
        -0.15117,
        0.40138,
        -0.07703,
        -0.03046,
        0.12799,
        0.1477,
    ],
    ("adam", "{'wd': 0.1}"): [-0.16596, 0.44065, -0.82338, -0.21782, -0.50717, -0.61587],
    ("nag", "{'momentum': 0.9}"): [-0.16596, 0.44065, 0.05628, 0.02225, 0.17341, 0.20013],
}


@pytest.mark.parametrize(("name", "options"), ROWS)
def test_embeddings_with_sparse_gradients_change_the_rows_that_were_read(name, options):
    embedding = gluon.nn.Embedding(6, 2, sparse_grad=True)
    embedding.initialize()
    embedding.weight.set_data(nd.array(np.random.RandomState(1).uniform(-1, 1, (6, 2))))
    trainer = gluon.Trainer(embedding.collect_params(), name, {"learning_rate": 0.1, **ast.literal_eval(options)})
    for ids in ([1, 2], [2, 3], [5, 5], [1, 1]):
        with autograd.record():
            loss = (embedding(nd.array(ids)) ** 2).sum()
        loss.backward()
        trainer.step(1)
    np.testing.assert_allclose(embedding.weight.data().asnumpy().ravel()[:6], ROWS[name, options], atol=2e-5)


def test_what_programs_take_from_test_utils(tmp_path):
    utils = mx.test_utils
    (tmp_path / "data.zip").write_bytes(b"x")
    assert utils.download("https://example.org/data.zip", dirname=str(tmp_path)) == str(tmp_path / "data.zip")
    assert list(utils.list_gpus()) == list(range(mx.num_gpus()))
    assert utils.default_context() == mx.cpu(0)
    utils.assert_almost_equal(mx.nd.ones(3), np.ones(3) + 1e-6)
    assert not utils.almost_equal(np.ones(2), np.ones(2) * 1.0001)
    assert utils.same(mx.nd.ones(2), np.ones(2))
    assert not utils.almost_equal(np.ones((1, 2)), np.ones(2), use_broadcast=False)
    with pytest.raises(AssertionError, match=r"left = \[1. 1.\], right"):
        utils.assert_almost_equal(np.ones(2), mx.nd.array([1, np.nan]), names=("left", "right"))
    utils.set_default_context(mx.cpu(1))
    try:
        assert mx.nd.zeros(1).context == mx.cpu(1)
    finally:
        utils.set_default_context(mx.cpu(0))
