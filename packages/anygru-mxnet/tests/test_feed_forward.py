"""`mx.model.FeedForward` trains, predicts and scores as in MXNet 1.9.1 (recorded)."""

import pickle
import re

import numpy as np
import pytest

import anygru_mxnet as mx

pytestmark = pytest.mark.filterwarnings("ignore:mxnet.model.FeedForward")

_random = np.random.RandomState(0)
X = _random.randn(70, 6).astype("float32")
Y = (X[:, 0] + X[:, 1] > 0).astype("float32") + (X[:, 2] > 0)


class Waves(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = mx.nd.array(np.sin(np.arange(arr.size)).reshape(arr.shape) * 0.5)


@pytest.fixture
def symbol():
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    hidden = mx.sym.Activation(mx.sym.BatchNorm(hidden, name="bn", fix_gamma=False), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")


@pytest.fixture
def trained(symbol):
    model = mx.model.FeedForward(symbol, num_epoch=3, learning_rate=0.3, momentum=0.9, initializer=Waves())
    model.fit(batches(16))
    return model


def batches(size):
    return mx.io.NDArrayIter(X, Y, size)


def test_parameters_after_three_epochs(trained):
    weights = trained.arg_params["fc2_weight"].asnumpy().ravel()[:4]
    np.testing.assert_allclose(weights, [-1.2479, 0.1050, 0.5483, -0.0582], atol=2e-4)
    means = trained.aux_params["bn_moving_mean"].asnumpy()[:4]
    np.testing.assert_allclose(means, [-0.0891, -0.0027, 0.0049, -0.1339], atol=2e-4)


def test_predictions_leave_out_the_padding(trained):
    outputs = trained.predict(batches(20))
    np.testing.assert_allclose(outputs.sum(0), [26.804, 23.002, 20.194], atol=5e-3)
    np.testing.assert_allclose(trained.predict(X), outputs, atol=1e-6)
    parts = trained.predict(batches(20), num_batch=2, return_data=True)
    assert [part.shape for part in parts] == [(40, 3), (40, 6), (40,)]


def test_scores(trained):
    assert trained.score(batches(20)) == pytest.approx(0.8)
    assert trained.score(batches(20), "ce", num_batch=2) == pytest.approx(0.3203, abs=2e-4)


def test_callbacks_count_from_one_and_evaluations_from_zero(symbol):
    seen, ended = [], []
    model = mx.model.FeedForward(symbol, num_epoch=1, learning_rate=0.3, momentum=0.9, initializer=Waves())
    model.fit(
        batches(16),
        eval_data=batches(16),
        batch_end_callback=lambda p: seen.append((p.nbatch, round(p.eval_metric.get()[1], 4))),
        eval_batch_end_callback=[lambda p: seen.append((p.nbatch, round(p.eval_metric.get()[1], 4)))],
        epoch_end_callback=lambda epoch, graph, arguments, states: ended.append((epoch, sorted(states))),
    )
    training = [(1, 0.0625), (2, 0.2188), (3, 0.2917), (4, 0.375), (5, 0.4625)]
    assert seen == [*training, (0, 0.9375), (1, 0.9375), (2, 0.8125), (3, 0.8281), (4, 0.85)]
    assert ended == [(0, ["bn_moving_mean", "bn_moving_var"])]


def test_an_epoch_may_take_more_than_a_pass(symbol):
    seen = []
    adam = mx.optimizer.Adam(learning_rate=0.05, rescale_grad=1 / 16)
    options = {"num_epoch": 2, "epoch_size": 7, "optimizer": adam, "initializer": Waves()}
    mx.model.FeedForward.create(
        symbol, batches(16), **options, batch_end_callback=lambda p: seen.append(round(p.eval_metric.get()[1], 3))
    )
    recorded = [0.062, 0.25, 0.292, 0.328, 0.425, 0.51, 0.562, 0.625, 0.656, 0.75, 0.781, 0.812, 0.792, 0.786]
    assert seen == pytest.approx(recorded, abs=1e-3)


def test_checkpoints_and_pickles_go_on(trained, tmp_path):
    trained.save(str(tmp_path / "m"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m-0003.params", "m-symbol.json"]
    loaded = mx.model.FeedForward.load(str(tmp_path / "m"), 3, num_epoch=5, learning_rate=0.1)
    np.testing.assert_array_equal(loaded.predict(X), trained.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trained)).predict(X), trained.predict(X))
    loaded.fit(batches(16))
    weights = loaded.arg_params["fc2_weight"].asnumpy().ravel()[:4]
    np.testing.assert_allclose(weights, [-1.2641, 0.1104, 0.5526, -0.0582], atol=2e-4)


def test_buckets_share_their_parameters():
    class Buckets(mx.io.DataIter):
        default_bucket_key = 5
        provide_data, provide_label = [("data", (4, 5))], [("softmax_label", (4, 5))]

        def reset(self):
            self.left = [5, 3, 5]

        def next(self):
            if not self.left:
                raise StopIteration
            size = self.left.pop()
            words = mx.nd.arange(4 * size).reshape((4, size)) % 7
            shapes = [("data", (4, size))], [("softmax_label", (4, size))]
            return mx.io.DataBatch([words], [(words + 1) % 7], 0, None, size, *shapes)

    def graph(steps):
        words = mx.sym.Embedding(mx.sym.var("data"), input_dim=7, output_dim=8, name="embed")
        outputs, _ = mx.rnn.GRUCell(8, prefix="gru_").unroll(steps, words, merge_outputs=True)
        outputs = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 8)), num_hidden=7, name="decode")
        labels = mx.sym.Reshape(mx.sym.var("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(outputs, labels, name="softmax")

    values = []
    model = mx.model.FeedForward(graph, num_epoch=20, learning_rate=1.0, initializer=Waves())
    model.fit(
        Buckets(4),
        eval_metric=mx.metric.Perplexity(None),
        batch_end_callback=lambda p: values.append(p.eval_metric.get()[1]),
    )
    assert values[0] > 6
    assert values[-1] < 2


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda model: model.fit(X), ValueError, "y must be specified"),
        (lambda model: model.fit(X, Y[:3]), ValueError, "not equal"),
        (lambda model: model.fit(X, [1]), TypeError, "y must be ndarray"),
        (lambda model: model.fit([1]), TypeError, "X must be DataIter"),
        (lambda model: model.fit(X, np.stack([Y, Y], 1)), ValueError, "Label must be 1D"),
        (lambda model: model.fit(X, Y, eval_data=3), TypeError, "Eval data must be"),
        (lambda model: model.fit(X, Y, eval_data=(None, Y)), ValueError, "Eval data is NONE"),
        (lambda model: model.fit(X, Y), TypeError, "num_epoch"),
        (lambda model: model.predict(X), AttributeError, "no parameters"),
        (lambda model: model.save("never"), AssertionError, "epoch"),
        (lambda model: mx.model.FeedForward(3), AssertionError, "symbol"),
        (
            lambda model: mx.model.FeedForward(mx.sym.var("a") + mx.sym.var("a")),
            ValueError,
            'duplicated argument name "a"',
        ),
    ],
)
def test_errors_are_of_mxnets_classes(symbol, use, error, message):
    with pytest.raises(error, match=re.escape(message)):
        use(mx.model.FeedForward(symbol))


def test_parameters_that_the_symbol_does_not_have(trained, symbol):
    more = {**trained.arg_params, "other": mx.nd.ones(1)}
    with pytest.raises(ValueError, match="other"):
        mx.model.FeedForward(symbol, arg_params=more, aux_params=trained.aux_params).predict(X)
    model = mx.model.FeedForward(symbol, arg_params=more, aux_params=trained.aux_params, allow_extra_params=True)
    np.testing.assert_array_equal(model.predict(X), trained.predict(X))


def test_inputs_of_a_dict_come_sorted():
    batches = mx.io.NDArrayIter({"b": X, "a": Y}, {"d": Y, "c": Y}, 10)
    assert [each.name for each in batches.provide_data] == ["a", "b"]
    assert [each.name for each in batches.provide_label] == ["c", "d"]
