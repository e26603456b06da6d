"""The Module API: training of symbols, with the numbers of MXNet 1.9.1."""

import logging

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import MXNetError, nd, sym

R = np.random.RandomState(0)
X, Y = R.randn(10, 4, 2).astype("float32"), (np.arange(10) % 2).astype("float32")
SGD = {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01}


class Fill(mx.init.Initializer):
    def __call__(self, desc, arr):
        arr[:] = np.random.RandomState(len(desc)).uniform(-0.5, 0.5, arr.shape)


def net(steps):
    cell = mx.gluon.rnn.GRUCell(3, prefix="gru_", input_size=2)
    begin = cell.begin_state(func=sym.zeros)
    out, _ = cell.unroll(steps, sym.var("data"), begin_state=begin, layout="NTC", merge_outputs=True)
    last = sym.SequenceLast(sym.swapaxes(out, dim1=0, dim2=1))
    head = sym.FullyConnected(last, num_hidden=2, name="head", lr_mult=2)
    return sym.SoftmaxOutput(head, sym.var("softmax_label"), name="softmax")


def sums(module):
    return [module.get_params()[0][name].asnumpy().sum() for name in sorted(module.get_params()[0])]


def test_fit_score_predict_and_checkpoints(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    data = mx.io.NDArrayIter(X, Y, 4)
    module = mx.mod.Module(net(4))
    prefix = str(tmp_path / "ck")
    module.fit(
        data, data, eval_metric=["acc", "ce"], optimizer_params=SGD, num_epoch=3, initializer=Fill(),
        epoch_end_callback=mx.callback.do_checkpoint(prefix, 2), batch_end_callback=mx.callback.Speedometer(4, 1),
    )  # fmt: skip
    assert "Epoch[2] Train-cross-entropy=0.700902" in caplog.messages
    assert "Epoch[2] Validation-cross-entropy=0.700686" in caplog.messages
    assert any(message.startswith("Epoch[0] Batch [0-1]\tSpeed: ") for message in caplog.messages)
    (name, value), predicted = module.score(data, "ce")[0], module.predict(data)
    assert (name, predicted.shape) == ("cross-entropy", (10, 2))
    assert abs(value - 0.7006859) < 1e-5
    assert np.allclose(predicted[:2].asnumpy(), [[0.58754, 0.41246], [0.57415, 0.42585]], atol=2e-5)
    assert np.allclose(sums(module), [0.01377, 0.24002, 0.00341, -0.06128, -0.48775, -0.47732], atol=2e-5)
    module.save_checkpoint(prefix, 9, True)
    again = mx.mod.Module.load(prefix, 9, True)
    again.bind(data.provide_data, data.provide_label)
    again.init_optimizer(optimizer_params=SGD)
    data.reset()
    again.forward_backward(next(data))
    again.update()
    assert np.allclose(sums(again), [-0.00692, 0.23179, -0.04016, -0.12009, -0.48775, -0.43877], atol=2e-5)
    again.forward(mx.io.DataBatch([nd.array(X[:7])], [nd.array(Y[:7])]), is_train=False)
    assert again.get_outputs()[0].shape == (7, 2)
    loaded, parameters, states = mx.model.load_checkpoint(prefix, 2)
    assert (loaded.list_arguments()[1], len(parameters), states) == ("gru_i2h_weight", 6, {})


def test_buckets_share_parameters_and_the_optimizer():
    module = mx.mod.BucketingModule(lambda key: (net(key), ("data",), ("softmax_label",)), default_bucket_key=4)
    module.bind([("data", (2, 4, 2))], [("softmax_label", (2,))])
    module.init_params(Fill())
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01})
    seen = []
    for steps in (4, 2, 3, 2):
        batch = mx.io.DataBatch(
            [nd.array(X[:2, :steps])], [nd.array(Y[:2])], bucket_key=steps,
            provide_data=[("data", (2, steps, 2))], provide_label=[("softmax_label", (2,))],
        )  # fmt: skip
        module.forward_backward(batch)
        module.update()
        metric = mx.metric.CrossEntropy()
        module.update_metric(metric, batch.label)
        seen.append(metric.get()[1])
    assert np.allclose(seen, [0.75493002, 0.66997319, 0.72806561, 0.66714478], atol=1e-5)
    assert np.allclose(sums(module), [0.05531, 0.08638, 0.06979, -0.15293, -0.48775, -0.70647], atol=2e-5)
    metric = mx.metric.CrossEntropy()
    module.update_metric(metric, [batch.label], pre_sliced=True)
    assert metric.get()[1] == seen[-1]
    group = module._curr_module._exec_group  # where sockeye reads its gradients
    assert group.arg_names == module.symbol.list_arguments()
    assert group.execs[0].grad_arrays[group.arg_names.index("head_bias")] is not None
    before = sums(module)
    module.bind([("data", (5, 4, 2))], [("softmax_label", (5,))], force_rebind=True)
    assert module.data_shapes[0].shape == (5, 4, 2)
    assert sums(module) == before


def test_layers_without_names_are_shared_by_the_buckets():
    def sym_gen(steps):
        embedded = sym.Embedding(sym.var("data"), input_dim=6, output_dim=3)
        scores = sym.FullyConnected(sym.reshape(embedded, shape=(-1, 3)), num_hidden=6)
        labels = sym.reshape(sym.var("softmax_label"), shape=(-1,))
        return sym.SoftmaxOutput(scores, labels, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
    module.bind([("data", (2, 5))], [("softmax_label", (2, 5))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    for steps in (5, 3):
        rows = [nd.array([[1] * steps, [2] * steps])]
        shapes = [("data", (2, steps))], [("softmax_label", (2, steps))]
        batch = mx.io.DataBatch(rows, rows, bucket_key=steps, provide_data=shapes[0], provide_label=shapes[1])
        module.forward_backward(batch)
        module.update()
    values = module.get_params()[0]
    assert sorted(values) == ["embedding0_weight", "fullyconnected0_bias", "fullyconnected0_weight"]
    np.testing.assert_allclose(
        values["fullyconnected0_bias"].asnumpy(),
        [-0.115125, 0.230249, 0.230249, -0.115125, -0.115125, -0.115125],
        atol=1e-5,
    )


def test_buckets_are_saved_with_their_symbols_and_loaded(tmp_path):
    def make(key):
        return net(key), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(make, default_bucket_key=4)
    module.bind([("data", (2, 4, 2))], [("softmax_label", (2,))])
    module.init_params(Fill())
    module.switch_bucket(3, [("data", (2, 3, 2))], [("softmax_label", (2,))])
    prefix = str(tmp_path / "buckets")
    module.save_checkpoint(prefix, 2)
    # The files that MXNet 1.9.1 writes (recorded).
    names = ["buckets-0002.params", "buckets-3-symbol.json", "buckets-4-symbol.json", "buckets.buckets"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert nd.load(f"{prefix}.buckets")[0].asnumpy().tolist() == [4, 3]
    again = mx.mod.BucketingModule.load(prefix, 2, sym_gen=make, default_bucket_key=4)
    again.bind([("data", (2, 4, 2))], [("softmax_label", (2,))])
    assert sums(again) == sums(module)
    with pytest.raises(AssertionError, match="sym_gen is required"):
        mx.mod.BucketingModule.load(prefix, 2, default_bucket_key=4)
    with pytest.raises(AssertionError, match="must be one of"):
        mx.mod.BucketingModule.load_dict({3: None}, make, 4)


def test_gradients_of_the_data_and_errors():
    module = mx.mod.Module(net(4), fixed_param_names=["head_bias"])
    assert module._fixed_param_names == ["head_bias"]
    with pytest.raises(AssertionError, match="bind"):
        module.init_params()
    module.bind([("data", (2, 4, 2))], [("softmax_label", (2,))], inputs_need_grad=True)
    module.init_params(Fill())
    module.forward(mx.io.DataBatch([nd.array(X[:2])], [nd.array(Y[:2])]))
    module.backward()
    assert abs(module.get_input_grads()[0].asnumpy().sum() + 0.01244) < 1e-5
    with pytest.raises(AssertionError, match="init_optimizer"):
        module.update()
    with pytest.raises(RuntimeError, match="is not presented"):
        module.set_params({}, {})
    with pytest.raises(ValueError, match="nope"):
        mx.mod.Module(net(4), data_names=["nope"])
    with pytest.raises(NotImplementedError, match="several contexts"):
        mx.mod.Module(net(4), context=[mx.cpu(0), mx.cpu(1)])


def test_variables_that_an_operator_makes():
    """Missing inputs become variables with the node's attributes and the operator's initializers."""
    bias = sym.var("own_bias", lr_mult=1.0)
    layer = sym.FullyConnected(data=sym.var("x"), bias=bias, name="fc", num_hidden=3, lr_mult=0)
    assert layer.list_arguments() == ["x", "fc_weight", "own_bias"]
    assert layer.attr_dict()["fc_weight"]["__lr_mult__"] == "0"
    assert layer.attr_dict()["own_bias"]["__lr_mult__"] == "1.0"
    optimizer = mx.optimizer.SGD(sym=layer, param_idx2name={0: "fc_weight", 1: "own_bias"})
    assert optimizer.lr_mult == {"fc_weight": 0.0, "own_bias": 1.0}
    norm = sym.BatchNorm(sym.LeakyReLU(layer, act_type="prelu", name="act"), name="bn")
    module = mx.mod.Module(norm, data_names=["x"], label_names=None)
    module.bind([("x", (2, 4))])
    module.init_params()
    assert module.get_params()[0]["act_gamma"].asnumpy().tolist() == [0.25] * 3
    assert module.get_params()[1]["bn_moving_var"].asnumpy().tolist() == [1.0] * 3


def test_the_shape_of_a_ctc_loss():
    loss = sym.CTCLoss(sym.var("data"), sym.var("label"))
    assert loss.infer_shape(data=(5, 2, 4), label=(2, 3))[1] == [(2,)]


def test_states_are_given_and_read_and_not_trained():
    out, last = sym.RNN(
        sym.var("data"), sym.var("weights"), sym.var("h"), state_size=2, num_layers=1, mode="gru", state_outputs=True
    )
    loss = sym.LinearRegressionOutput(out, sym.var("label"))
    module = mx.mod.Module(sym.Group([loss, sym.BlockGrad(last)]), ("data",), ("label",), state_names=["h"])
    module.bind([("data", (3, 2, 2))], [("label", (3, 2, 2))])
    module.init_params(mx.init.Mixed([".*"], [mx.init.Load({"weights": nd.arange(36) / 36})]))
    module.init_optimizer()
    module.set_states(value=0.5)
    assert (sorted(module.get_params()[0]), module.get_states()[0].asnumpy().tolist()) == (
        ["weights"],
        [[[0.5] * 2] * 2],
    )
    batch = mx.io.DataBatch([nd.ones((3, 2, 2))], [nd.zeros((3, 2, 2))])
    module.forward_backward(batch)
    group = module._exec_group
    assert group.param_names == ["weights"]
    assert group.grad_arrays[0][0].asnumpy().any()
    module.update()
    first = module.get_outputs()[1]
    module.set_states(states=[[first]])
    module.forward(batch, is_train=False)
    assert (module.get_states()[0] == first).asnumpy().all()
    assert module.get_outputs()[1].asnumpy().min() > first.asnumpy().min()
    with pytest.raises(AssertionError, match="states or value"):
        module.set_states()


def test_the_order_of_shuffled_batches_and_labels_that_are_chances():
    np.random.seed(3)
    data = mx.io.NDArrayIter(np.arange(7.0), np.arange(7.0), 3, shuffle=True, last_batch_handle="roll_over")
    orders = []
    for _ in range(3):
        orders.append([batch.data[0].asnumpy().astype(int).tolist() for batch in data])
        data.reset()
    later = [[[2, 5, 6], [2, 0, 3]], [[4, 1, 3], [6, 4, 0], [2, 5, 1]]]
    assert orders == [[[4, 6, 5], [3, 1, 0]], *later]
    x = nd.array([[1.0, 2, 3], [3, 1, 0]])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.SoftmaxOutput(
            x, nd.array([[0, 1, 0], [0.5, 0.5, 0]]), grad_scale=2.0, normalization="batch", smooth_alpha=0.1
        )
    y.backward()
    expected = [[0.1801, -1.5105, 1.3305], [0.6876, -0.7716, 0.084]]
    assert np.allclose(x.grad.asnumpy(), expected, atol=1e-4)


def test_iterators_around_others():
    base = mx.io.NDArrayIter(np.arange(10.0).reshape(5, 2), np.arange(5.0), 2)
    rows = [[0, 2], [4, 6], [8, 0]]
    again, on = mx.io.ResizeIter(base, 5), mx.io.ResizeIter(base, 2, reset_internal=False)
    for _ in range(2):
        assert [(b.data[0].asnumpy()[:, 0].tolist(), b.pad) for b in again] == list(
            zip([*rows, *rows[:2]], [0, 0, 1, 0, 0], strict=True)
        )
        again.reset()
    passes = []
    for _ in range(2):
        passes.append([batch.data[0].asnumpy()[:, 0].tolist() for batch in on])
        on.reset()
    assert passes == [rows[:2], [rows[2], rows[0]]]
    other = mx.io.NDArrayIter(np.arange(5.0), None, 2, data_name="other")
    base.reset()
    both = mx.io.PrefetchingIter([base, other], [{"data": "x"}, {"other": "y"}], [{"softmax_label": "z"}, {}])
    assert [(*each,) for each in both.provide_data + both.provide_label] == [("x", (2, 2)), ("y", (2,)), ("z", (2,))]
    for _ in range(2):
        taken = [[part.asnumpy().tolist() for part in batch.data[1:] + batch.label] for batch in both]
        assert taken == [[[0, 1], [0, 1]], [[2, 3], [2, 3]], [[4, 0], [4, 0]]]
        both.reset()
    shorter = mx.io.PrefetchingIter([base, mx.io.NDArrayIter(np.ones(2), None, 2)])
    with pytest.raises(AssertionError, match="mismatches"):
        list(shorter)


def test_an_epoch_logs_the_metric_as_it_was_before_the_last_callback(caplog):
    class Mean(mx.metric.EvalMetric):  # as programs write them: without sums over the epoch
        def update(self, labels, preds):
            self.sum_metric += float(preds[0].sum().asscalar())
            self.num_inst += 4

    def callback(param):
        seen.append((param.nbatch, param.locals["data_batch"] is not None, param.locals["next_data_batch"] is None))
        param.eval_metric.reset()

    caplog.set_level(logging.INFO)
    seen = []
    data = mx.io.NDArrayIter(X, Y, 4)
    mx.mod.Module(net(4)).fit(data, None, Mean("mean"), batch_end_callback=callback, num_epoch=2)
    assert [message for message in caplog.messages if "Train" in message] == [
        f"Epoch[{epoch}] Train-mean=1.000000" for epoch in range(2)
    ]
    assert seen == [(0, True, False), (1, True, False), (2, True, True)] * 2


def test_shapes_of_outputs_have_the_batch_size_first():
    steps = sym.Reshape(sym.FullyConnected(sym.var("data"), num_hidden=3, flatten=False), shape=(-1, 3), name="rows")
    module = mx.mod.Module(steps, label_names=None)
    module.bind([("data", (4, 6, 2))])
    module.init_params()
    module._sync_params_from_devices()  # as example/reinforcement-learning/parallel_actor_critic of MXNet does
    module.forward(mx.io.DataBatch([nd.ones((4, 6, 2))]))
    assert module.output_shapes == [("rows_output", (4, 3))]  # MXNet 1.9.1's text
    assert module.get_outputs()[0].shape == (24, 3)


def test_losses_need_no_gradients_from_outside():
    x = sym.var("x")

    def gradient(symbol, seeds):
        executor = symbol.bind(mx.cpu(), {"x": nd.array([1, 2])}, {"x": nd.zeros(2)})
        executor.forward(is_train=True)
        executor.backward(seeds)
        return executor.grad_dict["x"].asnumpy().tolist()

    losses = sym.Group([x * 2, sym.MakeLoss(x * 5), sym.BlockGrad(x * 7)])
    seed = nd.ones(2)
    # MXNet 1.9.1's numbers.
    assert [gradient(losses, [seed * k]) for k in (1, 2)] == [[7, 7], [9, 9]]
    assert gradient(losses, [seed, seed]) == gradient(losses, [seed] * 3) == gradient(losses, seed) == [7, 7]
    with pytest.raises(mx.MXNetError, match="not a loss"):
        gradient(sym.Group([x * 2, x * 3]), [seed])
    with pytest.raises(mx.MXNetError, match="not a loss"):
        gradient(sym.Group([sym.MakeLoss(x * 5), x * 2]), [seed])


def parts():
    hidden = sym.Activation(sym.FullyConnected(sym.var("data"), num_hidden=5, name="one"), act_type="tanh", name="act")
    return hidden, sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=3, name="two"), name="softmax")


def table():
    data = np.random.RandomState(0).randn(6, 4).astype("float32")
    return mx.io.NDArrayIter(data, (np.arange(6) % 3).astype("float32"), 3)


class Normal(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(len(name)).randn(*arr.shape) * 0.3


def hinge(scores, labels):
    scores, labels = scores.asnumpy(), labels.asnumpy().astype(int)
    gradient = np.zeros_like(scores)
    for row, label in enumerate(labels):
        lost = 1 + scores[row] - scores[row, label]
        lost[label] = 0
        gradient[row, label] -= 1
        gradient[row, lost.argmax()] += 1
    return gradient


def test_modules_in_a_chain(caplog):
    caplog.set_level(logging.INFO)
    one, two = parts()
    chain = mx.mod.SequentialModule().add(mx.mod.Module(one, label_names=[]))
    chain.add(mx.mod.Module(two), take_labels=True, auto_wiring=True)
    with pytest.raises(AssertionError, match="a typo"):
        chain.add(mx.mod.Module(two), take_label=True)
    symbols = []
    chain.fit(
        table(), table(), ["acc", "ce"], initializer=Normal(), optimizer="adam", optimizer_params={"learning_rate": 0.1},
        num_epoch=2, epoch_end_callback=lambda epoch, symbol, *params: symbols.append(symbol),
    )  # fmt: skip
    # MXNet 1.9.1's numbers, recorded.
    for message in (
        "Epoch[0] Train-cross-entropy=1.052647",
        "Epoch[1] Train-accuracy=0.833333",
        "Epoch[1] Validation-cross-entropy=0.589497",
    ):
        assert message in caplog.messages
    assert symbols == [None, None]
    assert chain.output_shapes == [("softmax_output", (3, 3))]
    assert np.allclose(chain.get_params()[0]["two_bias"].asnumpy(), [0.0973774, -0.0585249, 0.0907836], atol=1e-5)
    twice = mx.mod.SequentialModule().add(mx.mod.Module(one, label_names=[]))
    twice.add(mx.mod.Module(one, label_names=[]), auto_wiring=True)
    twice.bind([("data", (2, 3))])
    with pytest.raises(AssertionError, match="Duplicated parameter names"):
        twice.init_params()


def test_a_loss_in_python_ends_a_chain(caplog):
    caplog.set_level(logging.INFO)
    scores = mx.mod.Module(sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc"), label_names=[])
    loss = mx.mod.PythonLossModule(grad_func=hinge)
    chain = mx.mod.SequentialModule().add(scores).add(loss, take_labels=True, auto_wiring=True)
    chain.fit(table(), initializer=Normal(), optimizer_params={"learning_rate": 0.1}, num_epoch=2)
    assert "Epoch[1] Train-accuracy=0.666667" in caplog.messages
    assert np.allclose(chain.get_params()[0]["fc_bias"].asnumpy(), [-1 / 30, 2 / 30, -1 / 30])  # MXNet 1.9.1's
    assert chain.output_shapes == [("pyloss_output", (3, 3))]
    assert loss.get_params() == ({}, {})
    with pytest.raises(NotImplementedError, match="get_params"):
        mx.mod.BaseModule().get_params()


def test_a_monitor_logs_statistics(caplog):
    caplog.set_level(logging.INFO)
    one, two = parts()
    whole = two(data=one)
    monitor = mx.mon.Monitor(2, pattern=".*output|two.*", sort=True)
    mx.mod.Module(whole).fit(table(), initializer=Normal(), num_epoch=1, monitor=monitor)
    # MXNet 1.9.1's numbers, without the numbers of its gradients' operators.
    rows = [message.split() for message in caplog.messages if message.startswith("Batch:")]
    assert [(row[1], row[2]) for row in rows] == [
        ("1", name) for name in ("act_output", "one_output", "softmax_output", "two_bias", "two_output", "two_weight")
    ]
    found = [float(row[3]) for row in rows]
    assert np.allclose(found, [0.41203362, 0.48319706, 0.3352028, 0.00026364892, 0.14283827, 0.23694052], rtol=1e-4)
    executor = whole.simple_bind(mx.cpu(), data=(3, 4))
    monitor = mx.mon.Monitor(1, stat_func=lambda x: [x.max(), nd.norm(x)])
    monitor.install(executor)
    monitor.tic()
    executor.reshape(data=(2, 4), softmax_label=(2,)).forward()
    assert {name: found for _, name, found in monitor.toc()}["softmax_output"] == "0.33333334\t0.8164966\t"
    assert monitor.toc() == []


def test_values_of_no_parameter_are_ignored_unless_some_may_be_missing():
    module = mx.mod.Module(parts()[0], label_names=[])
    module.bind([("data", (2, 4))])
    more = {"one_weight": nd.ones((5, 4)), "one_bias": nd.ones(5), "two_bias": nd.ones(3)}
    module.init_params(None, more, {})
    module.set_params(more, {})
    with pytest.raises(ValueError, match="two_bias"):
        module.set_params(more, {}, allow_missing=True)
    assert module.get_params()[0]["one_bias"].asnumpy().tolist() == [1] * 5


@pytest.mark.parametrize(("round_batch", "rows"), [(True, [[6, 0, 1], [2, 3, 4]]), (False, [[6, 4, 5], [0, 1, 2]])])
def test_batches_of_a_file_of_numbers(tmp_path, round_batch, rows):
    path, labels = str(tmp_path / "data.csv"), str(tmp_path / "labels.csv")
    np.savetxt(path, np.arange(28).reshape(7, 4), delimiter=",")
    np.savetxt(labels, np.arange(7), delimiter=",")
    data = mx.io.CSVIter(
        data_csv=path, data_shape=(2, 2), label_csv=labels, batch_size=3, round_batch=round_batch, prefetch_buffer=2
    )
    assert (data.provide_data[0].shape, data.provide_label[0].shape) == ((3, 2, 2), (3,))
    first = list(data)
    data.reset()
    # The rows of the third batch and of the next pass's first one, as recorded from MXNet 1.9.1.
    for batch, expected, pad in ((first[2], rows[0], 2), (next(data), rows[1], 0)):
        assert batch.label[0].asnumpy().tolist() == batch.index.tolist() == expected
        assert (batch.data[0][:, 0, 1].asnumpy() == np.array(expected) * 4 + 1).all()
        assert batch.pad == pad
    assert (
        mx.io.CSVIter(data_csv=path, data_shape=(4,), batch_size=7, dtype="int32").next().data[0][3, 3].asscalar() == 15
    )
    for wrong in ({"data_shape": (3,)}, {"data_csv": path + "x"}, {"dtype": "float64"}, {"prefetch": 1}):
        with pytest.raises(mx.MXNetError, match="CSVIter"):
            mx.io.CSVIter(**{"data_csv": path, "data_shape": (4,), "batch_size": 3, **wrong})


@pytest.mark.parametrize(("rows", "size", "pads"), [(3, 5, [2]), (2, 5, [3]), (7, 3, [0, 0, 2])])
def test_padding_of_fewer_rows_than_a_batch_is_counted(rows, size, pads):
    data = mx.io.NDArrayIter(nd.arange(rows).reshape((rows, 1)), batch_size=size)
    assert [batch.pad for batch in data] == pads
    data.reset()
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="f")
    module = mx.mod.Module(symbol, label_names=None)
    module.bind(data.provide_data, for_training=False)
    module.init_params()
    assert module.predict(data).shape == (rows, 2)


@pytest.mark.parametrize("shape", [(4, 2), (4, 5)])
def test_a_batch_that_would_change_a_parameter_is_refused(shape):
    """As in MXNet 1.9.1 (recorded): an executor of other shapes shares the arrays without given shapes."""
    whole = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="f"), name="softmax")
    module = mx.mod.Module(whole)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    labels = [nd.zeros(4)]
    with pytest.raises(mx.MXNetError, match="f_weight.*changes from"):
        module.forward(mx.io.DataBatch([nd.ones(shape)], labels))
    with pytest.raises(mx.MXNetError, match="f_weight"):
        module.reshape([("data", shape)], [("softmax_label", (4,))])
    with pytest.raises(mx.MXNetError, match="softmax_label"):
        module.reshape([("data", (2, 3))])
    assert module.data_shapes[0].shape == (4, 3)
    # Inputs that the module does not name have no effect, as in MXNet.
    module.forward(mx.io.DataBatch([nd.ones((4, 3)), nd.ones(1)], labels), is_train=False)
    assert module.get_params()[0]["f_weight"].shape == (2, 3)
    assert module.get_outputs()[0].shape == (4, 2)


def test_a_module_computes_with_parameters_only():
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), label_names=None)
    module.bind([("data", (2, 3))])
    batch = mx.io.DataBatch([nd.ones((2, 3))])
    with pytest.raises(AssertionError, match="init_params"):
        module.forward(batch)
    with pytest.raises(AssertionError, match="init_params"):
        module.get_states()
    module.init_params(mx.init.One())
    module.forward(batch)
    assert module.get_outputs()[0].asnumpy().tolist() == [[3, 3], [3, 3]]


def test_labels_that_are_not_given_have_their_shape_of_bind():
    module = mx.mod.Module(net(4))
    module.bind([("data", (5, 4, 2))], [("softmax_label", (5,))])
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([nd.ones((7, 4, 2))], [nd.ones(7)]), is_train=False)
    assert module.predict(nd.ones((5, 4, 2))).shape == (5, 2)
    assert module.label_shapes[0].shape == (5,)
    assert module.output_shapes == [("softmax_output", (5, 2))]
    module.reshape([("data", (7, 4, 2))], [("softmax_label", (7,))])
    with pytest.raises(MXNetError, match="which is not given"):
        module.predict(nd.ones((6, 4, 2)))


def test_inputs_of_a_module_have_its_names():
    loss = mx.sym.MakeLoss(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2))
    module = mx.mod.Module(loss, label_names=None)
    with pytest.raises(ValueError, match="data_shapes don't match"):
        module.bind([("other", (2, 3))])
    assert not module.binded
    with pytest.warns(UserWarning, match="label_shapes don't match"), pytest.raises(KeyError, match="softmax_label"):
        module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    assert not module.binded
    module.bind([("data", (2, 3))])
