"""Blocks, parameters, files, graphs and training."""

import os
import pathlib
import pickle
import warnings

import numpy as np
import pytest
import torch

import anygru_mxnet as mx
from anygru_mxnet import MXNetError, autograd, gluon, nd, sym
from anygru_mxnet.gluon import nn, rnn

DATA = pathlib.Path(__file__).parent / "conformance" / "data"


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(8, 4)
            self.gru = rnn.GRU(3, 2, layout="NTC", bidirectional=True)
            self.norm = nn.LayerNorm()
            self.head = nn.Dense(2, flatten=False, activation="tanh")
            self.scale = self.params.get("scale", shape=(2,), init="ones")

    def hybrid_forward(self, F, x, scale):
        h = self.norm(self.gru(self.embed(x)))
        return F.broadcast_mul(self.head(h), scale.reshape((1, 1, -1))), F.max(h, axis=1)


IDS = nd.array([[1, 2, 3, 4], [5, 6, 7, 0]])


def made(seed=0, **kwargs):
    net = Net(**kwargs)
    net.initialize()
    net(IDS)
    rng = np.random.RandomState(seed)
    for parameter in net.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-0.6, 0.6, parameter.shape)))
    return net


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def close(left, right):
    np.testing.assert_allclose(left.asnumpy(), right.asnumpy(), atol=1e-6)


def test_names():
    net, other = Net(), Net(prefix="mine_")
    number = int(net.prefix[3:-1])
    assert Net().prefix == f"net{number + 1}_"
    assert list(other.collect_params()) == [
        "mine_scale", "mine_embedding0_weight",
        *[f"mine_gru0_{d}{i}_{w}_{k}" for i in "01" for d in "lr" for k in ("weight", "bias") for w in ("i2h", "h2h")],
        "mine_layernorm0_gamma", "mine_layernorm0_beta", "mine_dense0_weight", "mine_dense0_bias",
    ]  # fmt: skip
    assert list(other.collect_params(".*dense.*")) == ["mine_dense0_weight", "mine_dense0_bias"]


def test_attributes_keep_their_kind():
    net = Net()
    with pytest.raises(TypeError, match="Changing attribute type"):
        net.head = 3
    with pytest.raises(ValueError, match="must also be HybridBlock"):
        net.register_child(nn.Sequential())


def test_a_graph_gives_what_python_gives():
    net = made()
    plain, best = net(IDS)
    net.hybridize()
    for ids in (IDS, IDS[:1], IDS[:, :2]):
        output, _ = net(ids)
        close(output, plain[: ids.shape[0], : ids.shape[1]] if ids.shape[1] == 4 else made()(ids)[0])
    close(net(IDS)[1], best)
    net.scale.set_data(nd.zeros(2))
    assert (net(IDS)[0].asnumpy() == 0).all()


def test_gradients_through_a_graph():
    gradients = []
    for hybrid in (False, True):
        net = made()
        if hybrid:
            net.hybridize()
        with autograd.record():
            loss = (net(IDS)[0] ** 2).sum()
        loss.backward()
        gradients.append([p.grad().asnumpy() for p in net.collect_params().values()])
    for plain, hybrid in zip(*gradients, strict=True):
        np.testing.assert_allclose(plain, hybrid, atol=1e-6)


def test_a_block_is_traced_once():
    calls = []

    class Counting(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            calls.append(F)
            return x * 2

    block = Counting()
    block.hybridize()
    for _ in range(3):
        block(nd.ones(2))
    assert calls == [sym]


def test_a_graphs_output_is_an_array_of_its_own():
    class Same(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.identity(x), x.reshape((-1,))

    block = Same()
    block.hybridize()
    x = nd.ones((2, 2))
    for output in block(x):
        output[:] = 5
    assert (x.asnumpy() == 1).all()


def test_parameters_come_back_from_files(here):
    net = made()
    expected = net(IDS)[0]
    net.save_parameters("net.params")
    assert "gru._unfused.1.r_cell.h2h_bias" in nd.load("net.params")
    copy = Net()
    copy.load_parameters("net.params")
    close(copy(IDS)[0], expected)
    net.collect_params().save("names.params", strip_prefix=net.prefix)
    other = Net(prefix="other_")
    other.collect_params().load("names.params", restore_prefix="other_")
    close(other(IDS)[0], expected)
    nd.save("part.params", {k: v for k, v in nd.load("net.params").items() if k != "head.bias"})
    with pytest.raises(AssertionError, match="missing"):
        Net().load_parameters("part.params")
    nd.save("more.params", {**nd.load("net.params"), "more.weight": nd.ones(1)})
    with pytest.raises(ValueError, match="not present"):
        Net().load_parameters("more.params")
    wide = Net()
    wide.cast("float64")
    with pytest.raises(AssertionError, match="dtype incompatible"):
        wide.load_parameters("net.params")


def test_damaged_files_are_errors(here):
    made().save_parameters("net.params")
    whole = pathlib.Path("net.params").read_bytes()
    rng = np.random.RandomState(0)
    for size in [*range(0, 64), *rng.randint(0, len(whole) - 1, 40)]:
        pathlib.Path("cut.params").write_bytes(whole[:size])
        with pytest.raises(MXNetError):
            nd.load("cut.params")
        with pytest.raises(MXNetError):
            nd.load_frombuffer(whole[:size])
    for _ in range(200):
        changed = bytearray(whole)
        changed[rng.randint(0, 600)] ^= 1 << rng.randint(8)
        pathlib.Path("bad.params").write_bytes(changed)
        try:
            nd.load("bad.params")
        except MXNetError:
            continue  # a changed length; a changed value or letter of a name cannot be detected
    with pytest.raises(MXNetError, match="absent"):
        nd.load("absent.params")


def test_exported_models_come_back(here):
    net = made(prefix="net_")
    with pytest.raises(RuntimeError, match="hybridize"):
        net.export("early")
    net.hybridize()
    expected = net(IDS)
    net.export("model", epoch=3)
    assert sorted(os.listdir(".")) == ["model-0003.params", "model-symbol.json"]
    block = gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0003.params")
    for output, wanted in zip(block(IDS), expected, strict=True):
        close(output, wanted)
    assert set(block.collect_params()) == set(net.collect_params())
    # a cell's step is kept in MXNet's own operators
    cell = rnn.GRUCell(3, input_size=2)
    cell.initialize()
    cell.hybridize()
    cell(nd.ones((1, 2)), [nd.ones((1, 3))])
    operators = {node.operator.name for node in cell._cached_graph[1]._nodes() if node.operator}
    assert operators == {
        "FullyConnected", "SliceChannel", "Activation", "elemwise_add", "elemwise_sub", "elemwise_mul", "ones_like",
    }  # fmt: skip


def test_a_model_that_mxnet_exported():
    block = gluon.SymbolBlock.imports(str(DATA / "encoder-symbol.json"), ["data"], str(DATA / "encoder-0007.params"))
    layers = nn.HybridSequential(prefix="encoder_")
    with layers.name_scope():
        layers.add(
            nn.Embedding(10, 4), rnn.GRU(3, 2, layout="NTC", bidirectional=True, input_size=4),
            nn.Dense(5, flatten=False, in_units=6),
        )  # fmt: skip
    layers.collect_params().load(str(DATA / "encoder-0007.params"))
    ids = nd.array([[1, 2, 3, 9], [0, 5, 5, 7]])
    close(block(ids), layers(ids))


BAD_SYMBOLS = {
    "no JSON": "{", "no graph": "{}", "a number": '{"nodes": 3, "heads": []}',
    "unknown operator": '{"nodes": [{"op": "Zap", "name": "z", "inputs": []}], "heads": [[0, 0, 0]]}',
    "input from later": '{"nodes": [{"op": "relu", "name": "z", "inputs": [[0, 0, 0]]}], "heads": [[0, 0, 0]]}',
    "no such output": '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[0, 1, 0]]}',
    "too few inputs": '{"nodes": [{"op": "dot", "name": "x", "inputs": []}], "heads": [[0, 0, 0]]}',
    "unknown attribute": '{"nodes": [{"op": "null", "name": "x", "inputs": []},'
    '{"op": "sum", "name": "z", "attrs": {"a": "1"}, "inputs": [[0, 0, 0]]}], "heads": [[1, 0, 0]]}',
    "deep": "[" * 100000,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_SYMBOLS)
def test_damaged_symbols_are_errors(name, here):
    pathlib.Path("bad.json").write_text(BAD_SYMBOLS[name])
    with pytest.raises(MXNetError):
        gluon.SymbolBlock.imports("bad.json", ["data"])


def test_symbols():
    data = sym.var("data")
    out = sym.Activation(sym.FullyConnected(data, num_hidden=3, name="fc"), act_type="relu", name="act")
    assert out.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert out.list_outputs() == ["act_output"]
    assert out.infer_shape(data=(2, 5)) == ([(2, 5), (3, 5), (3,)], [(2, 3)], [])
    assert sym.load_json(out.tojson()).list_arguments() == out.list_arguments()
    (total,) = (sym.var("a") * 2 + sym.var("b")).eval(a=nd.ones(2), b=nd.ones(2))
    assert total.asnumpy().tolist() == [3, 3]
    with pytest.raises(MXNetError, match="NDArray"):
        data.asnumpy()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_is_torchs(momentum):
    weight, gradients = np.linspace(-1, 1, 6), np.random.RandomState(0).randn(4, 6)
    parameter = gluon.Parameter("weight", shape=(6,), dtype="float64")
    parameter.initialize()
    parameter.set_data(nd.array(weight, dtype="float64"))
    trainer = gluon.Trainer([parameter], "sgd", {"learning_rate": 0.125, "momentum": momentum, "wd": 0.25})
    theirs = torch.tensor(weight, requires_grad=True)
    optimizer = torch.optim.SGD([theirs], lr=0.125, momentum=momentum, weight_decay=0.25)
    for gradient in gradients:
        with autograd.record():
            loss = (parameter.data() * nd.array(gradient * 2, dtype="float64")).sum()
        loss.backward()
        trainer.step(2)
        theirs.grad = torch.tensor(gradient)
        optimizer.step()
    np.testing.assert_allclose(parameter.data().asnumpy(), theirs.detach().numpy(), atol=1e-7)


def trained(net, trainer, steps):
    losses = []
    for _ in range(steps):
        with autograd.record():
            loss = (net(IDS)[0] ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    return losses


@pytest.mark.parametrize(
    "name", ["sgd", "nag", "adam", "adagrad", "rmsprop", "adadelta", "adamax", "nadam", "ftrl", "lamb"]
)
def test_states_let_training_go_on(name, here):
    net = made()
    trainer = gluon.Trainer(net.collect_params(), name, {"wd": 0.01})
    trained(net, trainer, 2)
    trainer.save_states("states")
    net.save_parameters("net.params")
    whole = trained(net, trainer, 3)
    net = Net()
    net.load_parameters("net.params")
    trainer = gluon.Trainer(net.collect_params(), name)
    trainer.load_states("states")
    assert trained(net, trainer, 3) == pytest.approx(whole, rel=1e-6)


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps(Bomb()), pickle.dumps(({}, 3)), pickle.dumps([1])])
def test_states_run_no_code(content, here):
    net = made()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    pathlib.Path("states").write_bytes(content)
    with pytest.raises(MXNetError):
        trainer.load_states("states")
    assert not os.path.exists("exploded")


def test_stale_gradients_and_wrong_arguments():
    net = made()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    trained(net, trainer, 1)
    with pytest.raises(UserWarning, match="stale"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    with pytest.raises(ValueError, match="Cannot find optimizer"):
        gluon.Trainer(net.collect_params(), "zzz")
    with pytest.raises(ValueError, match="list or dict of Parameters"):
        gluon.Trainer(net, "sgd")
    with pytest.raises(TypeError):
        gluon.Trainer(net.collect_params(), "sgd", {"rate": 1})


@pytest.mark.parametrize("on_store", [True, False])
def test_two_contexts_train_as_one(on_store):
    whole = made(3)
    whole_trainer = gluon.Trainer(whole.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    halves = made(3)
    contexts = [mx.cpu(0), mx.cpu(1)]
    halves.collect_params().reset_ctx(contexts)
    trainer = gluon.Trainer(
        halves.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, update_on_kvstore=on_store
    )
    for _ in range(3):
        with autograd.record():
            loss = (whole(IDS)[0] ** 2).sum()
        loss.backward()
        whole_trainer.step(2)
        with autograd.record():
            losses = [(halves(part)[0] ** 2).sum() for part in gluon.utils.split_and_load(IDS, contexts)]
        autograd.backward(losses)
        trainer.step(2)
    for one, two in zip(whole.collect_params().values(), halves.collect_params().values(), strict=True):
        for copy in two.list_data():
            np.testing.assert_allclose(copy.asnumpy(), one.data().asnumpy(), atol=1e-6)


def test_distributed_stores_need_processes_started_together(monkeypatch):
    for variable in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(MXNetError, match="anygru launch"):
        mx.kv.create("dist_sync")
    with pytest.raises(MXNetError, match="dist_sync"):
        mx.kv.create("dist_async")
    with pytest.raises(MXNetError, match="Unknown"):
        mx.kv.create("pigeon")


def test_initializing_again_warns_and_changes_nothing():
    net = nn.Dense(2, in_units=2)
    net.initialize(mx.init.One())
    with pytest.warns(UserWarning, match="already initialized"):
        net.initialize(mx.init.Zero())
    assert (net.weight.data().asnumpy() == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.initialize(mx.init.Zero(), force_reinit=True)
    assert (net.weight.data().asnumpy() == 0).all()


def test_metrics_and_batches():
    metric = mx.metric.Accuracy()
    metric.update([nd.array([0, 1, 1])], [nd.array([[2, 1], [0, 3], [4, 0]])])
    assert metric.get() == ("accuracy", pytest.approx(2 / 3))
    perplexity = mx.metric.Perplexity(ignore_label=None)
    perplexity.update([nd.array([0, 1])], [nd.array([[0.5, 0.5], [0.75, 0.25]])])
    assert perplexity.get()[1] == pytest.approx((0.5 * 0.25) ** -0.5)
    data = gluon.data.ArrayDataset(np.arange(10).reshape(5, 2).astype("float32"), np.arange(5))
    for workers in (0, 2):
        batches = list(gluon.data.DataLoader(data, batch_size=2, num_workers=workers))
        assert [b[1].asnumpy().tolist() for b in batches] == [[0, 1], [2, 3], [4]]
    padded = gluon.data.batchify.Pad(val=-1)([[1, 2, 3], [4]])
    assert padded.asnumpy().tolist() == [[1, 2, 3], [4, -1, -1]]


def test_a_loss_of_ones_own_weighs_as_the_others():
    from anygru_mxnet.gluon.loss import Loss, _apply_weighting, _reshape_like

    class Distance(Loss):
        def hybrid_forward(self, F, pred, label, sample_weight=None):
            distance = F.abs(pred - _reshape_like(F, label, pred))
            return F.mean(
                _apply_weighting(F, distance, self._weight, sample_weight), axis=self._batch_axis, exclude=True
            )

    loss = Distance(2.0, 0)
    pred, label, weight = nd.array([[1, 2], [3, 4]]), nd.array([0, 0, 1, 1]), nd.array([[1], [0.5]])
    assert loss(pred, label, weight).asnumpy().tolist() == [3, 2.5]


def test_a_metric_of_a_nameless_function_is_custom():
    assert mx.metric.np(lambda label, pred: 1.0).name == "custom(<lambda>)"
    assert mx.metric.np(lambda label, pred: 1.0, name="one").name == "one"


def test_adams_rate_is_rounded_once_in_double_arrays():
    # The rate is corrected in double precision; the operator then takes it in float32, as it takes epsilon.
    weight = nd.array([1.0], dtype="float64")
    adam = mx.optimizer.Adam(learning_rate=0.03)
    adam.update(0, weight, nd.array([0.5], dtype="float64"), adam.create_state(0, weight))
    single = lambda number: float(np.float32(number))  # noqa: E731
    mean, square = single(1 - single(0.9)) * 0.5, single(1 - single(0.999)) * 0.25
    rate = single(0.03 * np.sqrt(1 - 0.999) / (1 - 0.9))
    expected = 1 - rate * mean / (np.sqrt(square) + single(1e-8))
    np.testing.assert_allclose(weight.asnumpy(), [expected], rtol=1e-15)


def test_a_known_size_cannot_become_unknown():
    parameter = gluon.Parameter("w", shape=(2, 0))
    parameter.shape = (2, 3)
    with pytest.raises(AssertionError, match="incompatible"):
        parameter.shape = (0, 3)
    assert parameter.shape == (2, 3)


def test_states_of_lamb_say_how_many_weights_go_into_a_step(here):
    weight = gluon.Parameter("w", shape=(2,))
    weight.initialize()
    gluon.Trainer([weight], "lamb").save_states("states")
    trainer = gluon.Trainer([weight], "sgd")
    trainer.load_states("states")
    assert trainer.optimizer.aggregate_num == 45  # with 0, MXNet reads the file and then fails in its first step


def test_sizes_may_be_numpys_numbers(tmp_path):
    words, units = np.array([4, 6]).max() + 1, np.int64(3)
    net = nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(nn.Embedding(words, units), rnn.GRU(units, np.int64(1), layout="NTC"), nn.Dense(words, flatten=False))
    net.initialize()
    net.hybridize()
    assert net(nd.ones((2, 5))).shape == (2, 5, 7)
    assert repr(net[0].weight) == "Parameter n_embedding0_weight (shape=(7, 3), dtype=float32)"
    net.export(str(tmp_path / "net"))
    assert "int64" not in (tmp_path / "net-symbol.json").read_text()
    assert nd.ones((2, 3)).sum(axis=np.int64(1)).shape == (2,)
