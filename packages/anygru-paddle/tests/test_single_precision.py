"""Options of most of Paddle's kernels are single-precision numbers, even for float64 tensors: values of 2.6.2 on a CPU."""

import math
import warnings

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import nn, optimizer
from anygru_paddle.distribution import Laplace
from anygru_paddle.framework.dtype import single
from anygru_paddle.nn import functional as F
from anygru_paddle.nn import initializer
from anygru_paddle.regularizer import L1Decay


def double(*values):
    return paddle.to_tensor(list(values), dtype="float64")


@pytest.fixture
def double_by_default():
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x, t: x + 0.3, [0.700000011920929, 2.000000011920929]),
        (lambda x, t: x + np.float64(0.3), [0.700000011920929, 2.000000011920929]),
        (lambda x, t: 0.3 - x, [-0.09999998807907107, -1.399999988079071]),
        (lambda x, t: x * 0.3, [0.12, 0.51]),
        (lambda x, t: x / 0.3, [1.3333333333333335, 5.666666666666667]),
        (lambda x, t: x % 0.3, [0.09999998807907107, 0.19999994039535518]),
        (lambda x, t: x**0.3, [0.759657784634604, 1.1725589316896592]),
        (lambda x, t: 0.3**x, [0.6178008505674119, 0.12915348607498026]),
        (lambda x, t: paddle.pow(x, 0.3), [0.759657784634604, 1.1725589316896592]),
        (lambda x, t: paddle.scale(x, 0.3, 0.3), [0.42000001192092895, 0.810000011920929]),
        (lambda x, t: paddle.scale(paddle.to_tensor([3, 4]), 2.5, 0.7), [6, 8]),
        (lambda x, t: paddle.stanh(x, 0.3, 0.7), [0.08359911084063834, 0.3289616447039123]),
        (lambda x, t: paddle.addmm(t, t.reshape([1, 1]), t.reshape([1, 1]), 0.1, 0.3), [0.05700000151991844]),
        (lambda x, t: paddle.logit(t, 0.1), [-0.8472978603872036]),
        (lambda x, t: paddle.renorm(x.reshape([1, 2]), 2.1, 0, 0.1), [0.02301091674707716, 0.09779639617507792]),
        (lambda x, t: paddle.norm(x, 2.1), [1.738305408749892]),
        (lambda x, t: F.pairwise_distance(x, t, 2.1, 0.1), [1.5103418878979344]),
        (lambda x, t: paddle.trapezoid(x, dx=0.3), [0.3150000125169754]),
        (
            lambda x, t: F.local_response_norm(x.reshape([1, 2, 1]), 3, 0.1, 0.3, 0.7),
            [0.4274268957829293, 1.8165643070774493],
        ),
        (lambda x, t: F.multi_margin_loss(x.reshape([1, 2]), paddle.to_tensor([0]), 2, 0.3), [1.2800000208616256]),
        (lambda x, t: F.sigmoid_focal_loss(x, x / x, gamma=1.7), [0.028916503451542987]),
        (lambda x, t: F.gaussian_nll_loss(x, x * 2, x, full=True), [1.3475228973674995]),
        (lambda x, t: F.cosine_embedding_loss(x / 1e3, x[::-1] / 1e3, -paddle.ones([1]), 0.1), [0.3459001758863573]),
        (lambda x, t: paddle.increment(t, 0.1), [0.4000000014901161]),
        (lambda x, t: F.pad(t.reshape([1, 1, 1]), [1, 0], value=0.1, data_format="NCL"), [0.10000000149011612, 0.3]),
        (lambda x, t: F.label_smooth(x, t, 0.3), [0.3699999988079071, 1.2799999833106994]),
        (
            lambda x, t: F.label_smooth(double(1.0, 0.0, 0.0, 0.0, 0.0), epsilon=0.3)[:2],
            [0.7599999904632568, 0.06000000238418579],
        ),
        (lambda x, t: F.layer_norm(x.reshape([1, 2]) * 0.01, [2]), [-0.8992288051997182, 0.8992288051997182]),
        (lambda x, t: F.hinge_embedding_loss(x, double(1.0, -1.0), 2.3), [0.4999999761581421]),
    ],
)
def test_operations(compute, expected):
    result = compute(double(0.4, 1.7), double(0.3)).numpy().ravel()
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_the_gradient_of_selu_has_a_product_of_single_precision():
    x = double(0.4, -1.7, -0.1)
    x.stop_gradient = False
    F.selu(x).sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(), [1.0507010221481323, 0.32117575543238286, 1.5907940444033646], rtol=1e-14
    )


def test_only_less_rounds_among_the_comparisons():
    t, u = double(0.3), double(0.7)
    assert [bool(each) for each in (t < 0.3, t <= 0.3, t > 0.3, t >= 0.3, t == 0.3)] == [True, True, False, True, True]
    assert [bool(each) for each in (u < 0.7, u <= 0.7, u > 0.7, u >= 0.7, u == 0.7)] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_whole_numbers_stay_exact():
    assert (paddle.to_tensor([1]) + 16777217).tolist() == [16777218]


@pytest.mark.filterwarnings("ignore:When training")
def test_batch_norm():
    norm = nn.BatchNorm1D(1)
    norm.to(dtype="float64")
    norm(double(0.4, 1.7).reshape([2, 1]))
    assert norm._mean.item() == pytest.approx(0.10500002503395081, rel=1e-12)
    assert norm._variance.item() == pytest.approx(0.942249986231327, rel=1e-12)


def test_dropout(double_by_default):
    assert F.dropout(paddle.ones([50]), 0.1).max().item() == pytest.approx(1.1111111405455043, rel=1e-12)
    paddle.seed(5)
    output, _ = nn.GRU(2, 2, 2, dropout=0.3)(paddle.ones([1, 2, 2]))
    expected = [0.10879840733654951, -0.23332969699851694, 0.21410450087050192, -0.21959747923962616]
    np.testing.assert_allclose(output.numpy().ravel(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda: paddle.uniform([2], "float64", 0.1, 0.3), [0.2840108306526715, 0.2072658176409502]),
        (lambda: double(0.0, 0.0).normal_(0.1, 0.3), [0.12134726690001793, 0.3468274199355651]),
        (lambda: double(0.0, 0.0).exponential_(0.3), [8.42134998504149, 2.5619337109047122]),
        (lambda: initialized(initializer.Normal(0.1, 0.3)), [0.12134726690001793, 0.3468274199355651]),
        (lambda: initialized(initializer.TruncatedNormal(0.1, 0.3)), [0.4860805132497189, 0.1261089302918586]),
        (lambda: initialized(initializer.NormalInitializer(0.1, 0.3, 3)), [-0.3075044929582518, 0.17871318989852514]),
        (
            lambda: initialized(initializer.TruncatedNormalInitializer(0.1, 0.3, 3)),
            [0.14232058024588, -0.14233612984884],
        ),
        (lambda: initialized(initializer.UniformInitializer(0.1, 0.3, 3)), [0.2117532052431354, 0.13915275448432357]),
        (lambda: initialized(initializer.XavierInitializer(seed=3)), [0.14394669404495408, -0.745223589215404]),
        (lambda: initialized(initializer.XavierInitializer(False, seed=3)), [-0.9604972500231796, 0.18552875376056]),
        (lambda: initialized(initializer.MSRAInitializer(seed=3)), [0.20357135591507713, -1.0539052495995695]),
        (lambda: initialized(initializer.MSRAInitializer(False, seed=3)), [-1.3583482608519826, 0.2623772842687602]),
        (lambda: Laplace(double(0.0, 0.0), double(1.0, 1.0)).rsample([1]), [1.8332579153428166, 0.07543296325209807]),
        (lambda: F.gumbel_softmax(double(0.0, 0.0), 0.7), [0.9465484568691954, 0.05345154313080452]),
        (lambda: F.alpha_dropout(double(1.0, 1.0, 1.0), 0.6), [1.92301860389748, -0.65811946130659, -0.65811946130659]),
    ],
)
def test_draws(draw, expected):
    paddle.seed(5)
    np.testing.assert_allclose(draw().numpy().ravel(), expected, rtol=1e-11)


def initialized(how):
    return paddle.create_parameter([2], "float64", default_initializer=how)


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (optimizer.SGD, {"weight_decay": 0.1}, [0.9500999010000001, -1.990200099]),
        (optimizer.Momentum, {"weight_decay": 0.1}, [0.9410998108092675, -1.972200188618528]),
        (optimizer.Momentum, {"weight_decay": L1Decay(0.1)}, [0.9409998102384209, -2.0010001902384165]),
        (optimizer.Adagrad, {}, [0.8500003332696581, -2.1499996667303423]),
        (optimizer.Adamax, {}, [0.8473682267676571, -2.152631773232343]),
        (optimizer.AdamW, {}, [0.8246762068630324, -2.1693267932709444]),
        (optimizer.Lamb, {"lamb_weight_decay": 0.1, "epsilon": 1e-3}, [0.7319960065132098, -1.9131937169636961]),
    ],
)
def test_optimizers(kind, options, expected):
    parameter = initialized(initializer.Assign([1.0, -2.0]))
    steps = kind(0.1, parameters=[parameter], **options)
    for scale in (1e-6, 0.3):
        (parameter * scale).sum().backward()
        steps.step()
        steps.clear_grad()
    np.testing.assert_allclose(parameter.numpy(), expected, rtol=1e-13)


def test_numbers_beyond_single_precision_are_infinite():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [single(value) for value in (1e300, -1e300, 1e-300)] == [math.inf, -math.inf, 0.0]
