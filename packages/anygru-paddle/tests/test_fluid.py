"""The names that dynamic-graph scripts of Paddle 1.8 use. Numbers were recorded from Paddle 1.8.5 on a CPU."""

import itertools
import pickle

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import fluid

L = fluid.layers
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], "float32")


def var(value):
    return fluid.dygraph.to_variable(np.asarray(value))


def test_numbers_without_axes_are_one_element():
    x = var(X)
    for result in (
        L.mean(x),
        L.reduce_sum(x),
        L.reduce_max(x),
        L.logsumexp(x),
        L.mse_loss(x, x),
        L.accuracy(x, var([[2], [0]])),
    ):
        assert result.shape == [1]
    assert L.reduce_sum(x, dim=1).shape == [2]
    assert L.rank(x).shape == []


def test_an_array_of_one_element_is_a_number_too():
    loss = L.mean(var(X)).numpy()
    assert type(loss[0]) is np.float32
    assert loss.shape == (1,)
    assert f"{float(loss):.4f}" == "%.4f" % loss == "0.4167"  # noqa: UP031
    total = 0.0
    total += loss
    assert int(total * 10) == 4
    assert repr(loss) == repr(np.array(loss))
    assert type(pickle.loads(pickle.dumps(loss))) is np.ndarray


def test_a_flag_lets_single_numbers_be_arrays():
    number = paddle.to_tensor(2.0)
    assert number.numpy().shape == ()
    paddle.set_flags({"FLAGS_set_to_1d": True})
    try:
        assert number.numpy()[0] == 2.0
    finally:
        paddle.set_flags({"FLAGS_set_to_1d": False})


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("smooth_l1", (X, X[::-1].copy()), [[3.5], [3.5]]),
        ("huber_loss", (X[:, :1], X[:, 1:2], 1.0), [[1.0], [0.75]]),
        ("hard_shrink", (X,), [[0.0, -1.0, 2.0], [1.5, 0.0, -0.75]]),
        ("l2_normalize", (X, 1), [[0.21821789, -0.43643579, 0.87287158], [0.88465172, 0.14744195, -0.44232586]]),
        ("cumsum", (X,), [[0.5, -0.5, 1.5], [1.5, 1.75, 1.0]]),
        ("leaky_relu", (X,), [[0.5, -0.02, 2.0], [1.5, 0.25, -0.015]]),
        ("pad2d", (X[None, None], [0, 1, 1, 0]), [[[[0, 0.5, -1, 2], [0, 1.5, 0.25, -0.75], [0, 0, 0, 0]]]]),
        ("flatten", (X[None],), [[0.5, -1.0, 2.0, 1.5, 0.25, -0.75]]),
        ("relu6", (X * 4, 2.0), [[2.0, 0.0, 2.0], [2.0, 1.0, 0.0]]),
    ],
)
def test_functions_of_1x(name, arguments, expected):
    given = [var(each) if isinstance(each, np.ndarray) else each for each in arguments]
    np.testing.assert_allclose(getattr(L, name)(*given).numpy(), np.array(expected, "float32"), rtol=2e-6)


def test_renamed_functions_refuse_what_they_do_not_have():
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        L.reduce_sum(var(X), axes=1)
    with pytest.raises(TypeError, match="takes 4 positional arguments but 5 were given"):
        L.reduce_sum(var(X), 0, False, None, 1)
    np.testing.assert_allclose(L.elementwise_add(var(X), var([1.0, -9.0]).astype("float32"), axis=0, act="relu")[1], 0)


@pytest.mark.parametrize(
    ("make", "rates"),
    [
        (lambda: fluid.dygraph.PiecewiseDecay([2, 4], [0.1, 0.2, 0.3], 0), [0.1, 0.1, 0.2, 0.2, 0.3]),
        (lambda: L.exponential_decay(0.1, 2, 0.5, True), [0.1, 0.1, 0.05, 0.05, 0.025]),
        (lambda: fluid.dygraph.NoamDecay(4, 2), [0.1767767, 0.35355338, 0.28867513, 0.25, 0.2236068]),
        (lambda: fluid.dygraph.CosineDecay(0.1, 2, 3), [0.1, 0.1, 0.075, 0.075, 0.025]),
        (
            lambda: fluid.dygraph.LinearLrWarmup(
                fluid.dygraph.PiecewiseDecay([3, 5], [0.1, 0.2, 0.3], 0), 3, 0.05, 0.1
            ),
            [0.01666667, 0.03333334, 0.1, 0.2, 0.2],
        ),
    ],
)
def test_rates_move_on_at_each_step(make, rates):
    layer = fluid.dygraph.Linear(3, 1)
    sgd = fluid.optimizer.SGD(make(), parameter_list=layer.parameters())
    seen = []
    for _ in rates:
        loss = L.mean(layer(var(X)))
        loss.backward(fluid.dygraph.BackwardStrategy())
        sgd.minimize(loss)
        layer.clear_gradients()
        seen.append(sgd.current_step_lr())
    np.testing.assert_allclose(seen, rates, rtol=1e-6)
    assert sgd._global_learning_rate().shape == [1]


def append_op(kind, inputs, attrs=None, **outputs):
    helper = fluid.Layer()._helper
    made = {name: helper.create_variable_for_type_inference(dtype) for name, dtype in outputs.items()}
    helper.append_op(type=kind, inputs=inputs, outputs={name: [each] for name, each in made.items()}, attrs=attrs)
    return list(made.values())


def test_chain_crf_against_all_paths():
    rng = np.random.RandomState(0)
    scores, weights = rng.randn(2, 4, 3), rng.randn(5, 3)
    labels, lengths = rng.randint(0, 3, (2, 4)), [4, 2]
    given = {"Emission": [var(scores)], "Transition": var(weights), "Label": [var(labels)], "Length": [var(lengths)]}
    given["Transition"].stop_gradient = False
    (cost,) = append_op("linear_chain_crf", given, LogLikelihood="float32")
    del given["Label"]
    (best,) = append_op("crf_decoding", given, ViterbiPath="float32")
    for row, length in enumerate(lengths):

        def score(path, row=row):
            steps = sum(weights[2 + a, b] for a, b in itertools.pairwise(path))
            return (
                weights[0, path[0]]
                + weights[1, path[-1]]
                + steps
                + sum(scores[row, i, tag] for i, tag in enumerate(path))
            )

        paths = list(itertools.product(range(3), repeat=length))
        total = np.log(sum(np.exp(score(path)) for path in paths))
        np.testing.assert_allclose(cost.numpy()[row, 0], total - score(tuple(labels[row, :length])), rtol=1e-12)
        assert best.numpy()[row].tolist() == [*max(paths, key=score), *[0] * (4 - length)]
    L.mean(cost).backward()
    assert np.abs(given["Transition"].gradient()).sum() > 0  # the variable made before has become the result


def test_operators_that_are_not_there_say_so():
    with pytest.raises(NotImplementedError, match="'warpctc' in append_op is not covered"):
        append_op("warpctc", {}, Loss="float32")
    with pytest.raises(NotImplementedError, match="'relu' with the attribute 'threshold' is not covered"):
        append_op("relu", {"X": [var(X)]}, {"threshold": 6.0}, Out="float32")
    (rows,) = append_op("softmax", {"X": [var(X)]}, {"axis": 0, "use_cudnn": False}, Out="float32")
    np.testing.assert_allclose(rows.numpy().sum(0), 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("full", {"shape": [1], "fill_value": 2.0, "stop_gradient": False}),
        ("randn", {"shape": [1], "out": X}),
        ("randint", {"low": 0, "high": 3, "seed": 5}),
        ("eye", {"num_rows": 2, "batch_shape": [3]}),
        ("reshape", {"x": X, "shape": [-1], "actual_shape": [3, 2]}),
    ],
)
def test_arguments_that_would_have_no_effect_are_refused(name, given):
    with pytest.raises(NotImplementedError, match=rf"fluid\.layers\.{name}\({list(given)[-1]}=\.\.\.\) is not covered"):
        getattr(L, name)(**given)
    del given[list(given)[-1]]
    getattr(L, name)(**{key: var(value) if value is X else value for key, value in given.items()})


def test_a_pool_is_of_maxima_or_means():
    with pytest.raises(ValueError, match="pool_type"):
        L.adaptive_pool2d(var(X.reshape(1, 1, *X.shape)), 1, "min")


def test_chunks():
    # types 0 and 1: B-0 I-0 B-1 I-1 O
    found, labels = [[0, 1, 4, 2, 3, 3, 0]], [[0, 1, 4, 2, 3, 4, 0]]
    scores = L.chunk_eval(var(found), var(labels), "IOB", 2)
    assert [each.numpy().item() for each in scores[3:]] == [3, 3, 2]
    metric = fluid.metrics.ChunkEvaluator()
    metric.update(*(each.numpy() for each in scores[3:]))
    assert metric.eval() == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_loaders_are_fed_by_generators():
    loader = fluid.io.DataLoader.from_generator(capacity=2)
    with pytest.raises(AssertionError, match="Data source"):
        iter(loader)
    loader.set_sample_list_generator(lambda: iter([[([1, 2], 0), ([3, 4], 1)]]), places=fluid.CPUPlace())
    ((ids, labels),) = list(loader())
    assert ids.numpy().tolist() == [[1, 2], [3, 4]]
    assert labels.shape == [2]
    loader.set_sample_generator(fluid.io.shuffle(lambda: iter([(1,), (2,), (3,)]), 5), batch_size=2)
    assert [batch[0].shape for batch in loader] == [[2]]
    pairs = paddle.reader.compose(lambda: iter([1, 2]), lambda: iter([(3, 4), (5, 6)]))
    assert list(pairs()) == [(1, 3, 4), (2, 5, 6)]
    with pytest.raises(paddle.reader.ComposeNotAligned):
        list(paddle.reader.compose(lambda: iter([1]), lambda: iter([2, 3]))())


def test_the_default_programs_seed_and_layers_are_built_at_their_first_input():
    draws = []
    for _ in range(2):
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 33
        layer = fluid.dygraph.FC("fc", 2, num_flatten_dims=2, act="tanh")
        draws.append(layer(var(np.ones((2, 3, 4), "float32"))).numpy())
    assert draws[0].shape == (2, 3, 2)
    assert (draws[0] == draws[1]).all()
    assert len(layer.parameters()) == 2
    fluid.require_version("1.6.0")
    with pytest.raises(NotImplementedError, match="Program.global_block is not covered"):
        fluid.default_main_program().global_block()


@pytest.mark.parametrize(
    ("scheme", "tags", "chunks"),
    [
        ("IOE", [0, 1, 0, 1, 4, 1, 2, 0], 5),  # I-0 E-0, I-0 E-0, E-0, I-1, I-0
        ("IOBES", [3, 3, 0, 2, 1, 8, 4, 5, 4, 7], 7),  # S-0, S-0, B-0 E-0, I-0, B-1 I-1, B-1, S-1
        ("plain", [0, 0, 1, 2, 0], 3),
    ],
)
def test_chunks_of_other_schemes(scheme, tags, chunks):
    found = L.chunk_eval(var([tags]), var([tags]), scheme, 2)
    assert [each.numpy().item() for each in found[3:]] == [chunks] * 3
    with pytest.raises(ValueError, match="chunk_scheme"):
        L.chunk_eval(var([tags]), var([tags]), "BIO", 2)


def test_dropout_follows_the_layers_and_not_its_argument():
    x, layer, tracer = L.ones([50, 50], "float32"), fluid.dygraph.Linear(2, 2), fluid.framework._dygraph_tracer()
    dropped = {}
    for mode in ("train", "eval", "train"):
        getattr(layer, mode)()
        dropped[mode] = [bool((L.dropout(x, 0.5, is_test=given).numpy() == 0).any()) for given in (False, True)]
        assert tracer._train_mode is (mode == "train")
    assert dropped == {"train": [True, True], "eval": [False, False]}
    with fluid.dygraph.no_grad():
        assert not tracer._has_grad
        assert L.dropout(x, 0.5).numpy().tolist() == (X[:1, :1] * np.ones((50, 50))).tolist()


def test_a_function_of_another_module_can_be_replaced():
    """Cells of 1.8 let a list of numbers count as one shape while they map shapes to states."""
    utils, map_structure = L.utils, L.utils.map_structure
    before = utils.is_sequence
    utils.is_sequence = lambda value: isinstance(value, list) and not isinstance(value[0], int)
    try:
        assert map_structure(str, [[1, 2], [3, 4]]) == ["[1, 2]", "[3, 4]"]
    finally:
        utils.is_sequence = before
    assert map_structure(str, [[1, 2], 3]) == [["1", "2"], "3"]


def test_layers_right_below_and_counters():
    model = fluid.dygraph.Sequential(fluid.dygraph.Sequential(fluid.dygraph.Linear(2, 2)))
    assert len(model.sublayers()) == 2
    assert model.sublayers(include_sublayers=False) == [model[0]]
    count = L.zeros([1], "int64")
    assert L.increment(count, 2.0, in_place=False).tolist() == [2]
    assert L.increment(x=count, value=1).tolist() == count.tolist() == [1]
