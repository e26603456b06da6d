"""Layer: names, attributes, state, casts, hooks, containers, and its use as a module of torch."""

import copy

import numpy as np
import pytest
import torch

import anygru_paddle as paddle
from anygru_paddle import nn
from anygru_paddle.utils import unique_name


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.gru = nn.GRU(4, 2)
        self.register_buffer("count", paddle.to_tensor([0]))
        self.scratch = paddle.zeros([1])

    def forward(self, x):
        return self.gru(self.first(x))[0]


def test_names_and_state():
    with unique_name.guard():
        net = Net()
        assert net.full_name() == "net_0"
        assert net.first.weight.name == "linear_0.w_0"
        assert net.gru.weight_ih_l0.name == "gru_cell_0.w_0"
    assert list(net.state_dict())[:3] == ["count", "first.weight", "first.bias"]
    assert "scratch" in net.to_static_state_dict()
    assert net.state_dict()["first.weight"] is net.first.weight
    with pytest.raises(ValueError, match="have be been used"):
        _ = [nn.Linear(1, 1, weight_attr="twice") for _ in range(2)]


def test_set_state_dict_returns_the_skipped_names():
    net = nn.Linear(2, 3)
    with pytest.warns(UserWarning, match=r"Skip loading for bias. bias is not found"):
        missing, unexpected = net.set_state_dict({"weight": paddle.ones([2, 3]), "other": paddle.ones([1])})
    assert (missing, unexpected) == (["bias"], ["other"])
    assert net.weight.tolist() == [[1.0] * 3] * 2
    with pytest.warns(UserWarning, match=r"receives a shape \[3, 2\], but the expected shape is \[2, 3\]"):
        net.set_state_dict({"weight": paddle.ones([3, 2]), "bias": np.zeros(3, "float32")})
    with pytest.raises(AssertionError, match="dtype not match"):
        net.set_state_dict({"weight": np.ones((2, 3)), "bias": np.zeros(3, "float32")})


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda n: n.add_parameter("a.b", n.create_parameter([1])), KeyError),
        (lambda n: n.add_parameter("", n.create_parameter([1])), KeyError),
        (lambda n: n.add_parameter("first", n.create_parameter([1])), KeyError),
        (lambda n: n.add_parameter(5, n.create_parameter([1])), TypeError),
        (lambda n: n.add_parameter("q", paddle.ones([1])), TypeError),
        (lambda n: n.add_sublayer("q", 3), AssertionError),
        (lambda n: n.register_buffer("q", np.ones(1)), TypeError),
        (lambda n: setattr(n.first, "weight", paddle.ones([3, 4])), TypeError),
        (lambda n: setattr(n, "count", 3), TypeError),
        (lambda n: n.create_parameter([0]), AssertionError),
        (lambda n: n.to("tpu"), ValueError),
        (lambda n: n.to(blocking="yes"), AssertionError),
        (lambda n: n.astype(np.float64), ValueError),
        (lambda n: n.float(excluded_layers="fc"), TypeError),
        (lambda n: nn.Layer()(1), NotImplementedError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error) as caught:
        call(Net())
    assert caught.type is error


def test_modes_do_not_call_the_sublayers():
    class Own(nn.Layer):
        def train(self):
            raise AssertionError

    net = nn.Sequential(nn.Sequential(Own()))
    net.eval()
    assert [layer.training for layer in net.sublayers(include_self=True)] == [False] * 3
    net.train()
    assert [layer.training for layer in net.sublayers(include_self=True)] == [True] * 3


def test_a_parameter_of_float_is_of_double_precision():
    assert nn.Layer().create_parameter([1], dtype="float").dtype == paddle.float64


def test_no_super_init():
    class Late(nn.Layer):
        def __init__(self):
            self.inner = nn.Linear(1, 1)

    with pytest.raises(ValueError, match="should be called first"):
        Late()


def test_casts():
    net = Net()
    net(paddle.ones([1, 2, 3])).sum().backward()
    assert net.to(dtype="float64") is net
    assert str(net.count.dtype) == str(net.first.weight.dtype) == str(net.first.weight.grad.dtype) == "paddle.float64"
    assert repr(net.first) == "Linear(in_features=3, out_features=4, dtype=float64)"
    assert net(paddle.ones([1, 2, 3], dtype="float64")).shape == [1, 2, 2]
    net.float()
    assert repr(net.first) == "Linear(in_features=3, out_features=4, dtype=paddle.float32)"
    net.first.astype("int8")
    assert not net.first.weight.stop_gradient
    if not paddle.is_compiled_with_cuda():
        with pytest.warns(UserWarning, match="does not support float16"):
            net.float16()


def test_hooks():
    layer = nn.Linear(2, 2)
    layer.weight.set_value(np.eye(2, dtype="float32"))
    x = paddle.to_tensor([[1.0, -1.0]])
    before = layer.register_forward_pre_hook(lambda _, inputs: inputs[0] * 2)
    after = layer.register_forward_post_hook(lambda _, inputs, output: -output)
    assert layer(x).tolist() == [[-2.0, 2.0]]
    assert layer.forward(x).tolist() == [[1.0, -1.0]]
    before.remove()
    before.remove()
    after.remove()
    assert layer(x).tolist() == [[1.0, -1.0]]


def test_deep_copies_have_names_of_their_own():
    layer = nn.Linear(2, 2)
    other = copy.deepcopy(layer)
    other.weight.set_value(other.weight + 1)
    assert other.weight.name.startswith(layer.weight.name + "_deepcopy")
    assert not (layer.weight == other.weight).any()


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop])
def test_torch_optimizers_train_a_layer(optimizer):
    paddle.seed(1)
    net, x = Net(), paddle.ones([2, 4, 3])
    steps = optimizer(net.parameters(), lr=0.005)
    losses = []
    for _ in range(5):
        loss = (net(x) - 0.5).square().sum()
        loss.backward()
        steps.step()
        steps.zero_grad()
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    steps.load_state_dict(steps.state_dict())


def test_torch_compile_takes_a_layer():
    net, x = Net(), paddle.ones([2, 4, 3])
    compiled = torch.compile(net, backend="eager")
    np.testing.assert_array_equal(compiled(x).numpy(), net(x).numpy())


def test_containers():
    layers = nn.LayerList([nn.ReLU(), nn.Tanh()])
    layers.append(nn.Sigmoid())
    layers.insert(0, nn.Softmax())
    del layers[1]
    assert [type(each).__name__ for each in layers] == ["Softmax", "Tanh", "Sigmoid"]
    named = nn.Sequential(("a", nn.Linear(2, 2)), ("b", nn.Tanh()))
    assert named["a"] is named[0]
    assert repr(named) == "Sequential(\n  (a): Linear(in_features=2, out_features=2, dtype=float32)\n  (b): Tanh()\n)"
    table = nn.LayerDict({"x": nn.ReLU()})
    table["y"] = nn.Tanh()
    assert list(table) == ["x", "y"]
    assert len(nn.ParameterList([paddle.create_parameter([1], "float32")]).parameters()) == 1


def test_cross_entropy_against_numpy():
    rs = np.random.RandomState(0)
    scores, labels, weight = rs.randn(5, 3), np.array([0, 2, -100, 1, 2]), np.array([0.2, 1.0, 3.0])
    log_p = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    used = labels >= 0
    losses = -log_p[used, labels[used]] * weight[labels[used]]
    args = paddle.to_tensor(scores), paddle.to_tensor(labels)
    mean = nn.CrossEntropyLoss(weight=paddle.to_tensor(weight))(*args)
    assert float(mean) == pytest.approx(losses.sum() / weight[labels[used]].sum())
    none = nn.CrossEntropyLoss(weight=paddle.to_tensor(weight), reduction="none")(*args)
    np.testing.assert_allclose(none.numpy()[used], losses)
    with pytest.raises(IndexError):
        nn.CrossEntropyLoss()(args[0], paddle.to_tensor([0, 1, 2, 3, 0]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("BatchNorm1D", "batch_norm1d_0"), ("Seq2Seq", "seq2_seq_0"), ("LSTM_Net", "lstm__net_0"), ("_P", "_p_0")],
)
def test_class_names_in_snake_case(name, expected):
    with unique_name.guard():
        assert type(name, (nn.Layer,), {})().full_name() == expected


def test_names_of_free_parameters_copies_and_results():
    with unique_name.guard():
        paddle.create_parameter([1], "float32", attr=paddle.ParamAttr(name="mine"))
        assert paddle.create_parameter([1], "float32").name == "create_parameter_1.w_0"
        layer = copy.deepcopy(nn.Linear(1, 1))
        assert [each.name for each in layer.parameters()] == ["linear_0.w_0_deepcopy_0", "linear_0.b_0_deepcopy_1"]
        paddle.to_tensor([1.0])
        assert paddle.to_tensor([1.0]).name == "generated_tensor_1"
        assert paddle.zeros([1]).name == "eager_tmp_0"


def test_loading_by_tensor_name_reports_tensor_names():
    with unique_name.guard():
        layer = nn.Linear(1, 1)
        with pytest.warns(UserWarning, match=r"Skip loading for bias. linear_0.b_0 is not found"):
            result = layer.set_state_dict({"linear_0.w_0": np.zeros((1, 1), "float32")}, use_structured_name=False)
        assert result == (["linear_0.b_0"], [])


def test_a_padding_row_counted_from_the_end():
    layer = nn.Embedding(3, 2, padding_idx=-1)
    assert repr(layer) == "Embedding(3, 2, padding_idx=-1, sparse=False)"
    assert layer.weight[2].numpy().tolist() == [0.0, 0.0]
    layer(paddle.to_tensor([1, 2])).sum().backward()
    assert layer.weight.grad.numpy().tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_variable_without_values():
    variable = nn.Layer().create_tensor("x")
    assert (variable.shape, variable.ndim, variable._is_initialized()) == ([], 0, False)
    with pytest.raises(AssertionError, match="Shape not match"):
        variable.set_value(np.ones(3, "float32"))
    paddle.assign(paddle.to_tensor(2.0), variable)
    assert variable._is_initialized()
    assert variable.item() == 2.0
    paddle.assign(paddle.ones([2, 3]), variable)
    assert variable.shape == [2, 3]
    assert type(variable) is paddle.Tensor


F, lr = nn.functional, paddle.optimizer.lr


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: F.one_hot(paddle.to_tensor([1.0]), 3), RuntimeError),
        (lambda: nn.ClipGradByNorm(-1.0)([(None, paddle.ones([2]))]), ValueError),
        (lambda: F.maxout(paddle.ones([1, 4, 2, 2]), 1), ValueError),
        (lambda: F.normalize(paddle.zeros([0, 3])), ValueError),
        (lambda: lr.OneCycleLR(1.0, 3, end_learning_rate="a"), TypeError),
        (lambda: lr.OneCycleLR(1.0, 3, end_learning_rate=-1.0), ValueError),
        (lambda: lr.OneCycleLR(1.0, 3, divide_factor="a"), TypeError),
        (lambda: lr.OneCycleLR(1.0, 3, phase_pct=1), TypeError),
        (lambda: F.log_softmax(paddle.ones([2]), dtype="float128"), ValueError),
        (lambda: list(paddle.io.WeightedRandomSampler(np.zeros(2), 2)), AssertionError),
    ],
)
def test_what_paddle_refuses(call, error):
    """Each recorded from Paddle 2.6.2."""
    with pytest.raises(error):
        call()


def test_padding_as_paddle_takes_it():
    x = paddle.to_tensor([[[0.0, 1.0, 2.0]]])
    assert F.pad(x, [4, 2], "circular", data_format="NCL").numpy().ravel().tolist() == [2, 0, 1, 2, 0, 1, 2, 0, 1]
    assert F.pad(x, [1, 0], value=np.array([5.0]), data_format="NCL").numpy().ravel().tolist() == [5, 0, 1, 2]


def test_relu_of_nan_is_zero():
    x = paddle.to_tensor([float("nan"), -1.0, 2.0], stop_gradient=False)
    F.relu(x).sum().backward()
    assert F.relu(x).tolist() == [0.0, 0.0, 2.0]
    assert x.grad.tolist() == [0.0, 0.0, 1.0]


def test_a_layer_takes_the_first_item_of_a_tuple_of_results():
    net = nn.Sequential(nn.LSTM(3, 4), nn.Linear(4, 2), nn.ReLU())
    x = paddle.rand([2, 5, 3])
    np.testing.assert_array_equal(net(x).numpy(), nn.functional.relu(net[1](net[0](x)[0])).numpy())
    assert paddle.concat((x, x)).shape == [4, 5, 3]
    with pytest.raises(ValueError, match="must be Tensor, but got list"):
        nn.functional.relu([x, x])
    with pytest.raises(ValueError, match="must be Tensor, but got tuple"):
        nn.functional.relu((1, x))


def test_the_activation_of_batch_norm_is_looked_up_when_it_is_used():
    layer = nn.BatchNorm(3, 1e-5)  # the second argument is the activation
    with pytest.raises(ValueError, match="act must be one of"):
        layer(paddle.rand([2, 3]))
    assert paddle.fluid.framework.ParamBase is type(layer.weight)


def test_batch_norm_3d_forgets_the_depth_of_its_format_at_the_first_call():
    layer = nn.BatchNorm3D(2)
    assert "data_format=NCDHW" in str(layer)
    layer.eval()
    layer(paddle.rand([1, 2, 2, 2, 2]))
    assert "data_format" not in str(layer)
    assert paddle.tensor.fill_constant([2], "float32", 3).tolist() == [3, 3]


def test_batch_normalization_prints_another_format_after_its_first_call():
    """Recorded from 2.6.2."""
    layer = nn.BatchNorm1D(3)
    before = str(layer)
    layer.eval()
    layer(paddle.ones([2, 3]))
    assert before == "BatchNorm1D(num_features=3, momentum=0.9, epsilon=1e-05, data_format=NCL)"
    assert str(layer) == "BatchNorm1D(num_features=3, momentum=0.9, epsilon=1e-05)"
    assert str(nn.UpsamplingNearest2D(12)) == "UpsamplingNearest2D(size=[12, 12], data_format=NCHW)"


def test_softmax_has_a_floor():
    """Values and gradients of 2.6.2 on a CPU: no score counts as more than 64 below the largest."""
    x = paddle.to_tensor([[0.0, -63.0, -65.0, -100.0]], stop_gradient=False)
    p, log_p = nn.functional.softmax(x), nn.functional.log_softmax(x)
    np.testing.assert_allclose(p.numpy(), [[1.0, 4.3596101e-28, 1.6038109e-28, 1.6038109e-28]], rtol=1e-6)
    np.testing.assert_allclose(log_p.numpy(), [[0.0, -63.0, -64.0, -64.0]])
    weights = paddle.to_tensor([[1.0, 2.0, 3.0, 4.0]])
    (by_log,) = paddle.grad((log_p * weights).sum(), x)
    (by_p,) = paddle.grad((paddle.log(p) * weights).sum(), x)
    for gradient in (by_log, by_p):
        np.testing.assert_allclose(gradient.numpy(), [[-9.0, 2.0, 3.0, 4.0]], rtol=1e-6)
    masked = nn.functional.softmax(paddle.to_tensor([0.0, -np.inf]))
    assert float((masked * paddle.log(masked)).sum()) == pytest.approx(-64 * 1.6038109e-28)


def test_cross_entropy_has_the_floor_of_softmax():
    """Values and gradients of 2.6.2 on a CPU."""
    rows = [[0.0, 200.0, -10.0], [1.0, 2.0, 500.0]]
    for labels in (np.array([0, 1]), np.eye(3, dtype="float32")[:2]):
        x = paddle.to_tensor(rows, stop_gradient=False)
        soft = labels.ndim == 2
        loss = nn.functional.cross_entropy(x, paddle.to_tensor(labels), soft_label=soft, reduction="none")
        assert loss.numpy().ravel().tolist() == [64.0, 64.0]
        loss.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), [[-1, 1, 0], [0, -1, 1]], atol=1e-6)


def test_unpooling_and_batch_normalization_of_all_processes():
    """Values of 2.6.2."""
    x = paddle.to_tensor([[[1.0, 5.0, 2.0, 4.0, 3.0, 0.0]]])
    largest, places = nn.functional.max_pool1d(x, 2, return_mask=True)
    assert nn.MaxUnPool1D(2)(largest, places).numpy().tolist() == [[[0.0, 5.0, 0.0, 4.0, 3.0, 0.0]]]
    with pytest.raises(ValueError, match="data_format"):
        nn.functional.max_unpool1d(largest, places, 2, data_format="NLC")
    plain = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1D(3))
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(plain)
    assert str(synced[1]) == "SyncBatchNorm(num_features=3, momentum=0.9, epsilon=1e-05, data_format=NCL)"
    assert synced[1].weight is plain[1].weight


def test_weight_norm_trains_lengths_and_directions():
    """The numbers were recorded from Paddle 2.6.2."""
    paddle.seed(3)
    layer = paddle.nn.utils.weight_norm(paddle.nn.Linear(3, 2), dim=1)
    assert [(name, p.shape) for name, p in layer.named_parameters()] == [
        ("bias", [2]),
        ("weight_v", [3, 2]),
        ("weight_g", [2]),
    ]
    x = paddle.to_tensor(np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3))
    sgd = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    for _ in range(2):
        loss = (layer(x) ** 2).mean()
        loss.backward()
        sgd.step()
        sgd.clear_grad()
    np.testing.assert_allclose(float(loss), 0.07163901627063751, rtol=1e-6)
    np.testing.assert_allclose(layer.weight_g.numpy(), [0.17997030913829803, 0.11816875636577606], rtol=2e-5)
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        paddle.nn.utils.weight_norm(layer)
    before = layer.weight_g.numpy()
    paddle.nn.utils.remove_weight_norm(layer)
    np.testing.assert_allclose(np.linalg.norm(layer.weight.numpy(), axis=0), before, rtol=1e-6)


@pytest.mark.parametrize(
    ("dim", "value", "expected", "length"),
    [
        (None, 1e-7, 0.4999975, 1.019804e-6), (None, 1e-12, 0.3333333, 1e-6), (None, 0.0, 0.0, 1e-6),
        (0, 1e-7, 0.7071068, 1.00995e-6), (1, 1e-13, 0.1, 1e-6), (0, 0.0, 0.0, 1e-6),
    ],
)  # fmt: skip
def test_weight_norm_of_almost_nothing(dim, value, expected, length):
    """Where its 1e-12 show: numbers of Paddle 2.6.2."""
    layer = paddle.nn.Linear(2, 2)
    layer.weight.set_value(np.full([2, 2], value, "float32"))
    paddle.nn.utils.weight_norm(layer, dim=dim)
    assert layer.weight_g.numpy().ravel()[0] == pytest.approx(length, rel=1e-5)
    layer.weight_g.set_value(np.ones(layer.weight_g.shape, "float32"))
    layer(paddle.ones([1, 2])).sum().backward()
    assert layer.weight[0, 0].item() == pytest.approx(expected, rel=1e-5)
    assert np.isfinite(layer.weight_v.grad.numpy()).all()


def test_spectral_norm_by_seed():
    """Numbers of Paddle 2.6.2: a hook that improves its vectors in training, and a layer that does not."""
    paddle.seed(3)
    layer = paddle.nn.utils.spectral_norm(paddle.nn.Linear(3, 4), n_power_iterations=2)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert layer.weight_u.shape == [4]
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    x = paddle.to_tensor(np.random.RandomState(0).randn(2, 3).astype("float32"))
    adam = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    for expected in (0.7663818, 0.4422141):
        loss = (layer(x) ** 2).mean()
        loss.backward()
        adam.step()
        adam.clear_grad()
        assert loss.item() == pytest.approx(expected, rel=1e-5)
    layer.eval()
    assert layer(x).sum().item() == layer(x).sum().item() == pytest.approx(-0.4794735, rel=1e-5)
    with pytest.raises(RuntimeError, match="Cannot register two"):
        paddle.nn.utils.spectral_norm(layer)
    paddle.seed(1)
    alone = paddle.nn.SpectralNorm([4, 3])
    matrix = paddle.to_tensor(np.random.RandomState(0).randn(4, 3).astype("float32"))
    assert alone(matrix)[0].tolist() == pytest.approx([0.85610455, 0.19419855, 0.4749871], rel=1e-5)
    assert alone.weight_u[0].item() == pytest.approx(-0.30557564)
    assert alone.weight_v.stop_gradient
    given = paddle.to_tensor(np.arange(6.0).reshape(2, 3).astype("float32") - 2, stop_gradient=False)
    paddle.seed(5)
    (paddle.nn.SpectralNorm([2, 3])(given) * 2).sum().backward()
    # This is not the derivative, in Paddle as well.
    assert given.grad[0].tolist() == pytest.approx([0.54073024, 0.5709582, 0.6011863], rel=1e-5)


def test_ctc_gradients_by_time_and_soft_focal_labels():
    """Numbers of Paddle 2.6.2."""
    values = np.random.RandomState(0).randn(5, 2, 4).astype("float32")
    labels = paddle.to_tensor([[1, 2], [3, 3]], dtype="int32")
    first = {}
    for by_times in (False, True):
        x = paddle.to_tensor(values, stop_gradient=False)
        lengths = paddle.to_tensor([5, 4]), paddle.to_tensor([2, 2])
        loss = nn.functional.ctc_loss(x, labels, *lengths, norm_by_times=by_times)
        loss.backward()
        assert loss.item() == pytest.approx(2.522806)
        first[by_times] = x.grad[0, :, 0].tolist()
    assert first == {
        False: pytest.approx([-0.0976, 0.11891], rel=1e-4),
        True: pytest.approx([-0.01952, 0.02973], rel=1e-3),
    }
    x = paddle.to_tensor(np.random.RandomState(0).randn(3, 4).astype("float32"))
    assert nn.functional.sigmoid_focal_loss(x, nn.functional.sigmoid(x)).item() == pytest.approx(0.5622159)


def test_shrunk_and_thresholded_numbers_keep_their_sign():
    """Both are products with 0 or 1 in Paddle 2.6.2: recorded there, and seen in the sign of zeros and in nan."""
    x = paddle.to_tensor(np.array([-np.inf, np.nan, -2.0, -0.3, 0.0, 3.0], "float32"), stop_gradient=False)
    relu, shrunk = nn.functional.thresholded_relu(x), nn.functional.hardshrink(x)
    np.testing.assert_array_equal(relu.numpy(), [np.nan, np.nan, 0, 0, 0, 3])
    np.testing.assert_array_equal(shrunk.numpy(), [-np.inf, np.nan, -2, 0, 0, 3])
    assert np.signbit(relu.numpy()[2:]).tolist() == [True, True, False, False]
    assert np.signbit(shrunk.numpy()[2:]).tolist() == [True, True, False, False]
    shrunk.sum().backward()
    assert x.grad.tolist() == [1, 0, 1, 0, 0, 1]


def test_a_common_divisor_of_floats_has_gradients_of_zeros():
    """As in Paddle 2.6.2 (recorded); the common multiple has no gradient. Of nan 2.6.2 does not return."""
    x = paddle.to_tensor([4.0, np.nan], stop_gradient=False)
    y = paddle.to_tensor([6.0, 1.0])
    divisor = paddle.gcd(x, y)
    np.testing.assert_array_equal(divisor.numpy(), [2, np.nan])
    assert np.isnan(paddle.gcd(y, y * np.inf).numpy()).all()
    assert not divisor.stop_gradient
    assert paddle.lcm(x, y).stop_gradient
    divisor[0].backward()
    assert x.grad.tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore:When training")
@pytest.mark.parametrize("kind", [nn.BatchNorm1D, nn.InstanceNorm1D])
@pytest.mark.parametrize("trained", [(True, False), (False, True), (True, True)])
def test_scale_and_bias_of_a_normalization_are_trained_together_or_not_at_all(kind, trained):
    weight, bias = (paddle.ParamAttr(trainable=each) for each in trained)
    layer = kind(3, weight_attr=weight, bias_attr=bias)
    x = paddle.rand([2, 3, 4])
    x.stop_gradient = False
    (layer(x) ** 2).sum().backward()
    has = [parameter.grad is not None for parameter in layer.parameters()[:2]]
    assert has == [all(trained)] * 2  # recorded, 2.6.2
    assert x.grad is not None


def test_a_group_norm_keeps_its_parameters_and_trains_those_with_a_learning_rate():
    without = nn.GroupNorm(3, 3, weight_attr=False, bias_attr=False)
    assert [p.stop_gradient for p in without.parameters()] == [True, True]
    assert without(paddle.rand([2, 3, 4])).shape == [2, 3, 4]
    attrs = paddle.ParamAttr(trainable=False), paddle.ParamAttr(learning_rate=0.0)
    assert [nn.GroupNorm(3, 3, weight_attr=a).weight.stop_gradient for a in attrs] == [False, True]  # recorded, 2.6.2


@pytest.mark.parametrize(
    "layer", [nn.InstanceNorm1D(4), nn.GroupNorm(4, 4), nn.LayerNorm(1)], ids=["instance", "group", "layer"]
)
def test_a_normalization_of_one_element_is_exactly_its_bias(layer):
    """Numbers of Paddle 2.6.2: zeros, and no gradient of the scale."""
    x = paddle.to_tensor([[[3.1], [0.2], [1000.7], [-5.3]]], stop_gradient=False)
    out = layer(x)
    (out * paddle.to_tensor([[[1.0], [2.0], [3.0], [4.0]]])).sum().backward()
    assert (abs(out).max().item(), abs(x.grad).max().item()) == (0, 0)
    assert all(abs(p.grad).max().item() == 0 for name, p in layer.named_parameters() if "bias" not in name)
