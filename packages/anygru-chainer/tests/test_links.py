"""Links against Chainer 7.8.1 with the same seeds: initial values, outputs, gradients, names of parameters.

`data/links_7.8.1.json` was written there by `facts` (with `import chainer`), the first twelve numbers of each array.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer.functions import recurrent
from anygru_chainer.link_hooks import SpectralNormalization, WeightStandardization

RECORDED = json.loads((Path(__file__).parent / "data" / "links_7.8.1.json").read_text())
R = np.random.RandomState(0)
SEQUENCES = [R.randn(n, 3).astype("f") for n in (4, 1, 3)]
ROWS = R.randn(3, 4).astype("f")
PICTURES = chainer.Variable(R.randn(2, 4, 7, 6).astype("f"))
SIGNALS = chainer.Variable(R.randn(2, 4, 9).astype("f"))
CELLS = R.randn(3, 3).astype("f")
LABELS = np.array([0, 3, 1], "i")
TREE = L.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 5, 2: 6, 3: 4, 4: 4})


def steps(link):
    link.reset_state()
    return [link(ROWS[:n]) for n in (3, 3, 2, 1)] + [link.c, link.h]


def whole_steps(link):
    return [link(ROWS) for _ in range(3)] + [link.c, link.h]


def tree(link):
    leaf = link(None, None, None, None, ROWS)
    return [*leaf, *link(leaf[0], None, leaf[1], CELLS, None), *link(leaf[0], CELLS, leaf[1], CELLS, ROWS)]


def sequences(link):
    return link(None, SEQUENCES)


def sequences_with_cells(link):
    return link(None, None, SEQUENCES)


def field(link):
    draw = np.random.RandomState(4)
    xs = [draw.randn(n, 3).astype("f") for n in (2, 4, 1)]
    assert [path.tolist() for path in link.argmax(xs, transpose=True)[1]] == RECORDED["argmax"]
    return link(xs, [np.arange(n, dtype="i") % 3 for n in (2, 4, 1)], transpose=True)


def sampled(link):
    link.W.array[...] = np.arange(12).reshape(4, 3) / 12.0
    np.random.seed(7)
    return link(ROWS[:, :3], LABELS)


# Name -> (makes the link, calls it).
LINKS = {
    "NStepLSTM": (lambda: L.NStepLSTM(2, 3, 2, 0.5), sequences_with_cells),
    "NStepBiLSTM": (lambda: L.NStepBiLSTM(2, 3, 2, 0.5), sequences_with_cells),
    "NStepRNNTanh": (lambda: L.NStepRNNTanh(2, 3, 2, 0.5), sequences),
    "NStepRNNReLU": (lambda: L.NStepRNNReLU(2, 3, 2, 0.5), sequences),
    "NStepBiRNNTanh": (lambda: L.NStepBiRNNTanh(2, 3, 2, 0.5), sequences),
    "NStepBiRNNReLU": (lambda: L.NStepBiRNNReLU(2, 3, 2, 0.5), sequences),
    "NStepLSTM dropout": (lambda: L.NStepLSTM(2, 3, 2, 0.5), sequences_with_cells),
    "NStepBiLSTM dropout": (lambda: L.NStepBiLSTM(2, 3, 2, 0.5), sequences_with_cells),
    "LSTM": (lambda: L.LSTM(4, 3), steps),
    "LSTM none": (lambda: L.LSTM(3), steps),
    "StatelessLSTM": (
        lambda: L.StatelessLSTM(None, 3, forget_bias_init=2),
        lambda link: link(*link(None, None, ROWS), ROWS),
    ),
    "Convolution2D": (lambda: L.Convolution2D(4, 6, (3, 2), stride=2, pad=1, groups=2), lambda link: link(PICTURES)),
    "Deconvolution2D": (lambda: L.Deconvolution2D(None, 6, 3, stride=2, pad=1), lambda link: link(PICTURES)),
    "Deconvolution2D out": (
        lambda: L.Deconvolution2D(4, 2, 3, stride=2, outsize=(16, 14)),
        lambda link: link(PICTURES),
    ),
    "Convolution1D": (lambda: L.Convolution1D(4, 5, 3, pad=1), lambda link: link(SIGNALS)),
    "ConvolutionND": (lambda: L.ConvolutionND(1, 5, 3, stride=2, cover_all=True), lambda link: link(SIGNALS)),
    "Deconvolution1D": (lambda: L.Deconvolution1D(4, 5, 3, 2), lambda link: link(SIGNALS)),
    "StatefulPeepholeLSTM": (lambda: L.StatefulPeepholeLSTM(4, 3), whole_steps),
    "StatefulZoneoutLSTM": (lambda: L.StatefulZoneoutLSTM(4, 3, 0.3, 0.6), whole_steps),
    "ChildSumTreeLSTM": (lambda: L.ChildSumTreeLSTM(4, 3), tree),
    "NaryTreeLSTM": (lambda: L.NaryTreeLSTM(4, 3, 2), tree),
    "Highway": (lambda: L.Highway(4), lambda link: link(ROWS)),
    "Swish": (lambda: L.Swish(None, 0.5), lambda link: link(ROWS)),
    "SpectralNormalization": (
        lambda: L.Linear(None, 3).add_hook(SpectralNormalization(2, use_gamma=True, factor=2)),
        lambda link: (link(ROWS), link(ROWS)),
    ),
    "SpectralNormalization conv": (
        lambda: L.Convolution2D(4, 3, 2).add_hook(SpectralNormalization()),
        lambda link: link(PICTURES),
    ),
    "WeightStandardization": (
        lambda: L.Convolution2D(4, 3, 2).add_hook(WeightStandardization(eps=1e-3)),
        lambda link: link(PICTURES),
    ),
    "CRF1d": (lambda: L.CRF1d(3, np.arange(9, dtype="f").reshape(3, 3) / 10), field),
    "NegativeSampling": (lambda: L.NegativeSampling(3, [5, 1, 2, 3], 4), sampled),
    "BinaryHierarchicalSoftmax": (lambda: L.BinaryHierarchicalSoftmax(3, TREE), lambda link: link(ROWS[:, :3], LABELS)),
}


def flat(outputs):
    if isinstance(outputs, (list, tuple)):
        return [value for output in outputs for value in flat(output)]
    return [outputs]


def facts(name):
    """Outputs, parameters and gradients of the sum of the outputs' squares, as rows of numbers."""
    make, call = LINKS[name]
    np.random.seed(3)
    link = make()
    drops = "dropout" in name or not name.startswith("NStep")
    if "dropout" in name:
        np.random.seed(5)
    with chainer.using_config("train", drops):
        outputs = flat(call(link))
    link.cleargrads()
    sum(F.sum(y * y) for y in outputs).backward()
    parameters = [parameter for _, parameter in sorted(link.namedparams())]
    rows = {"": outputs, " params": parameters, " grads": [p.grad for p in parameters]}
    return {name + key: [np.ravel(chainer.as_array(x))[:12] for x in values] for key, values in rows.items()}


@pytest.mark.parametrize("name", LINKS)
def test_links_compute_what_chainers_did(name):
    for key, rows in facts(name).items():
        assert len(rows) == len(RECORDED[key]), key
        for ours, theirs in zip(rows, RECORDED[key], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6, err_msg=key)


def test_huffmans_tree_is_chainers():
    assert repr(TREE) == RECORDED["tree"]
    with pytest.raises(ValueError, match="Empty vocabulary"):
        L.BinaryHierarchicalSoftmax.create_huffman_tree({})


def test_a_batch_larger_than_the_one_before_is_refused():
    link = L.LSTM(4, 3)
    link(ROWS[:2])
    with pytest.raises(TypeError, match="must be equal to or less than"):
        link(ROWS)
    with pytest.raises(AssertionError, match="h must be a Variable"):
        link.set_state(link.c, ROWS)


def test_maxouts_arrays_have_an_axis_for_the_pool():
    W = np.arange(24, dtype="f").reshape(2, 4, 3)
    link = L.Maxout(3, 2, 4, initialW=W, initial_bias=lambda array: array.__setitem__(..., np.ones((2, 4))))
    np.testing.assert_array_equal(link.linear.W.array, W.reshape(8, 3))
    np.testing.assert_array_equal(link.linear.b.array, np.ones(8))
    x = ROWS[:, :3]
    np.testing.assert_allclose(link(x).array, (np.einsum("opi,bi->bop", W, x) + 1).max(2), rtol=1e-5)
    with pytest.raises(ValueError, match="initialW.ndim should be 3, got 2"):
        L.Maxout(3, 2, 4, initialW=W.reshape(8, 3))


def test_a_bilinear_link_takes_an_array_of_its_own_shape():
    W = np.arange(24, dtype="f").reshape(2, 3, 4)
    np.testing.assert_array_equal(L.Bilinear(2, 3, 4, initialW=W).W.array, W)


def test_a_weight_hook_comes_and_goes():
    link, hook = L.Linear(4, 3), SpectralNormalization(use_gamma=True)
    with pytest.raises(ValueError, match="Weight 'V' does not exist"):
        link.add_hook(SpectralNormalization(weight_name="V"))
    with pytest.raises(AssertionError, match="n_power_iteration must be at least 1, got 0"):
        SpectralNormalization(0)
    with pytest.raises(NotImplementedError, match="context manager"), hook:
        pass
    link = L.Linear(4, 3)
    before = link.W
    link.add_hook(hook)(ROWS)
    assert link.W is before
    assert link.W_u.shape == (3,)
    link.delete_hook(hook.name)
    assert not hasattr(link, "W_u")
    assert [name for name, _ in sorted(link.namedparams())] == ["/W", "/b"]


def test_a_tree_needs_something_to_start_from():
    with pytest.raises(ValueError, match="are None"):
        L.ChildSumTreeLSTM(4, 3)(None, None, None)
    with pytest.raises(AssertionError, match="5 arguments are needed, got 3"):
        L.NaryTreeLSTM(4, 3)(None, None, ROWS)


def test_a_step_of_an_n_step_lstms_layer_is_that_of_the_layer():
    link = L.NStepLSTM(1, 3, 2, 0.0)
    h, c, _ = link(None, None, [SEQUENCES[0][:1]])
    zeros = np.zeros((1, 2), "f")
    step = recurrent._lstm(SEQUENCES[0][:1], zeros, zeros, link.ws[0], link.bs[0])
    for ours, theirs in zip(step, (h, c), strict=True):
        np.testing.assert_allclose(ours.array, theirs.array[0], rtol=1e-5)


def test_depthwise_convolution_is_chainers():
    """Recorded under Chainer 7.8.1."""
    np.random.seed(0)
    link = L.DepthwiseConvolution2D(2, 2, 3, pad=1)
    y = link(np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4) / 10)
    np.testing.assert_allclose(link.W.array.ravel()[:3], [0.41579112, 0.09431796, 0.23069076], rtol=1e-6)
    np.testing.assert_allclose(
        y.array[0, :, 1, 2], [0.63571882, 0.01397572, 2.53899169, -0.256069], rtol=1e-5, atol=1e-6
    )
    late = L.DepthwiseConvolution2D(None, 3, (2, 1), nobias=True)
    assert late(np.ones((1, 2, 4, 4), np.float32)).shape == (1, 6, 3, 4)
    assert late.b is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_lstm_computes_the_same_without_native_kernels(monkeypatch, dtype):
    def gradients():
        np.random.seed(0)
        with chainer.using_config("dtype", dtype):
            cell, later = L.LSTM(4, 3), L.Linear(3, 12)
        xs = [chainer.Variable(np.random.randn(5, 4).astype(dtype)) for _ in range(3)]
        outputs = [cell(x) for x in xs]
        c, h = F.lstm(cell.c, later(outputs[-1]))
        c, h = F.lstm(c, later(h)[:2])  # some sequences end
        F.sum(c * c + F.pad(h, ((0, 3), (0, 0)), "constant")).backward()
        return [c.array, *(p.grad for link in (cell, later) for p in link.params()), *(x.grad for x in xs)]

    natively = gradients()
    monkeypatch.setattr("anygru_chainer.functions.recurrent.native", None)
    for ours, theirs in zip(natively, gradients(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_interleaved_gates_are_split():
    sums = np.arange(24, dtype=np.float32).reshape(2, 12)
    for x in (sums, chainer.Variable(sums)):
        gates = recurrent._extract_gates(x)
        assert [type(gate) for gate in gates] == [type(x)] * 4
        np.testing.assert_array_equal(
            np.stack([getattr(gate, "array", gate) for gate in gates], 2).reshape(2, 12), sums
        )
