"""The block of convolution, batch normalization and ReLU that Chainer's documents repeat."""

import numpy as np
import pytest
import torch

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer.utils.type_check import InvalidType

X = np.random.RandomState(0).randn(4, 3, 5, 6).astype("f")


class ConvBNReLU(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(None, 8, 3, 1, 1, nobias=True)
            self.bn = L.BatchNormalization(8)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def test_a_repeated_block_runs_and_learns():
    net = ConvBNReLU().repeat(4, mode="init")
    y = net(X)
    assert y.shape == (4, 8, 5, 6)
    net.cleargrads()
    F.sum(y * y).backward()
    assert all(np.isfinite(p.grad).all() for p in net.params())
    assert [list(p.shape) for p in net[1].params()] == [[8], [8], [8, 8, 3, 3]]


def test_batch_normalization_is_torchs_with_its_running_averages():
    ours, theirs = L.BatchNormalization(3, decay=0.8), torch.nn.BatchNorm2d(3, eps=2e-5, momentum=0.2)
    for scale in (1, 3):
        expected = theirs(torch.from_numpy(X * scale)).detach().numpy()
        np.testing.assert_allclose(ours(X * scale).array, expected, atol=1e-5)
    np.testing.assert_allclose(ours.avg_mean, theirs.running_mean, atol=1e-6)
    np.testing.assert_allclose(ours.avg_var, theirs.running_var, rtol=1e-5)
    with chainer.using_config("train", False):
        np.testing.assert_allclose(ours(X).array, theirs.eval()(torch.from_numpy(X)).detach().numpy(), atol=1e-5)


def test_averages_are_copied_and_saved(tmp_path):
    source, copied, params_only, loaded = (L.BatchNormalization(3) for _ in range(4))
    source(X, finetune=True)
    copied.copyparams(source)
    params_only.copyparams(source, copy_persistent=False)
    chainer.serializers.save_npz(tmp_path / "bn.npz", source)
    chainer.serializers.load_npz(tmp_path / "bn.npz", loaded)
    assert (source.N, copied.N, params_only.N, loaded.N) == (1, 1, 0, 1)
    np.testing.assert_allclose(source.avg_mean, X.mean((0, 2, 3)), atol=1e-6)
    np.testing.assert_array_equal(copied.avg_mean, source.avg_mean)
    np.testing.assert_array_equal(loaded.avg_var, source.avg_var)
    assert (params_only.avg_mean == 0).all()


def test_the_axes_to_average_over():
    link = L.BatchNormalization(axis=(0, 2))
    y = link(X).array
    assert link.gamma.shape == (3, 6)
    np.testing.assert_allclose(y.mean((0, 2)), 0, atol=1e-6)
    with pytest.raises(RuntimeError, match="size or axis is required"):
        L.BatchNormalization()
    with pytest.raises(InvalidType):
        L.BatchNormalization(4)(X)


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"pad": (1, 0), "stride": (2, 1)}, {"dilate": 2}, {"groups": 3}], ids=str
)
def test_convolution_is_torchs(options):
    link = L.Convolution2D(3, 6, 2, initial_bias=0.5, **options)
    arguments = {{"pad": "padding", "dilate": "dilation"}.get(k, k): v for k, v in options.items()}
    expected = torch.nn.functional.conv2d(
        torch.from_numpy(X), torch.from_numpy(link.W.array), torch.from_numpy(link.b.array), **arguments
    )
    np.testing.assert_allclose(link(X).array, expected, atol=1e-6)


def test_convolution_that_covers_all_goes_past_the_end():
    w = np.ones((2, 3, 2, 2), "f")
    assert F.convolution_2d(X, w, stride=2).shape == (4, 2, 2, 3)
    y = F.convolution_2d(X, w, stride=2, cover_all=True).array
    assert y.shape == (4, 2, 3, 3)
    np.testing.assert_allclose(y[0, 0, 2, 0], X[0, :, 4, :2].sum(), rtol=1e-5)


def test_groups_must_divide_the_channels():
    with pytest.raises(ValueError, match="got 2 groups of 3 input"):
        L.Convolution2D(3, 4, 1, groups=2)


def test_a_dilated_link_and_a_network_behind_a_convolution():
    np.random.seed(0)
    dilated = L.DilatedConvolution2D(None, 4, 3, pad=1, dilate=2)
    y = dilated(X)
    np.testing.assert_array_equal(y.array, F.convolution_2d(X, dilated.W, dilated.b, pad=1, dilate=2).array)
    assert str(dilated) == "DilatedConvolution2D()"
    network = L.MLPConvolution2D(3, (4, 2), 3, pad=1, activation=F.tanh)
    np.testing.assert_array_equal(network(X).array, network[1](F.tanh(network[0](X))).array)
    assert [link.W.shape for link in network] == [(4, 3, 3, 3), (2, 4, 1, 1)]
    with pytest.raises(ValueError, match="wscale is not supported"):
        L.MLPConvolution2D(3, (4, 2), 3, wscale=1)


def test_groups_of_channels_are_normalized():
    normalize = L.GroupNormalization(3)
    x = X.reshape(4, 3, -1)
    expected = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(normalize(X).array.reshape(4, 3, -1), expected, rtol=1e-4, atol=1e-5)
    assert L.GroupNormalization(3)(np.array([[3, 0.1, 1000]], np.float32)).array.tolist() == [[0, 0, 0]]
    pair = np.array([[[1000, 1000.01]]], np.float32)
    assert np.ptp(abs(L.GroupNormalization(1)(pair).array)) < 1e-6  # the same distance from the mean
    with pytest.raises(ValueError, match="not divisible"):
        L.GroupNormalization(2)(X)


def test_the_gradient_of_an_empty_batch_is_an_error():
    """As in Chainer 7.8.1, recorded; the forward pass gives an empty array."""
    x = chainer.Variable(np.zeros((0, 4), "f"))
    with pytest.warns(UserWarning, match="degrees of freedom"):
        y = L.BatchNormalization(4)(x)
    assert y.shape == (0, 4)
    with pytest.raises(ZeroDivisionError, match="at least one element"):
        F.sum(y).backward()


def test_rows_far_from_zero_keep_the_digits_of_their_gradients():
    """The formula in float64; of rows that are not centred, torch's kernel has an error of 3e-3."""
    random = np.random.RandomState(0)
    x, slopes = (random.randn(24, 16) * 0.01 + 1000).astype("f"), random.randn(24, 16).astype("f")
    given = chainer.Variable(x)
    y = chainer.functions.layer_normalization(given, np.ones(16, "f"), np.zeros(16, "f"))
    y.grad = slopes
    y.backward()
    exact = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    variance, mean = torch.var_mean(exact, 1, correction=0, keepdim=True)
    ((exact - mean) / (variance + 1e-5).sqrt() * torch.tensor(slopes)).sum().backward()
    assert np.abs(given.grad - exact.grad.numpy()).max() < 2e-4 * exact.grad.abs().max().item()
