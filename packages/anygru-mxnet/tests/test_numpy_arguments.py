"""Arguments of `mx.np` have an effect, or are refused; values are NumPy's where MXNet 1.9.1 has them, too (recorded)."""

import numpy as onp
import pytest

import anygru_mxnet as mx
from anygru_mxnet import np
from anygru_mxnet.base import MXNetError

PLAIN = onp.array([[1, -2, 3], [4, 5, -6]], "float32")
CUBE = onp.arange(24, dtype="float32").reshape(2, 3, 4)
SAME = {
    "trace of a diagonal above": lambda np, n, c: np.trace(n, offset=1),
    "trace of other axes": lambda np, n, c: np.trace(c, axis1=1, axis2=2),
    "diagonal by name": lambda np, n, c: np.diagonal(c, offset=1, axis1=1, axis2=2),
    "sort of all": lambda np, n, c: np.sort(n, axis=None),
    "places of all in order": lambda np, n, c: np.argsort(n, axis=None),
    "concatenate all": lambda np, n, c: np.concatenate([n, c[0]], axis=None),
    "unique": lambda np, n, c: np.unique(np.abs(n.reshape(-1)) % 3, True, True, True),
    "unique columns": lambda np, n, c: np.unique(n, return_index=True, axis=1),
    "linspace with its step": lambda np, n, c: np.linspace(0, 1, 5, retstep=True),
    "rollaxis to the end": lambda np, n, c: np.rollaxis(c, 0, 3),
    "rollaxis to the front": lambda np, n, c: np.rollaxis(c, 2),
    "percentile": lambda np, n, c: np.percentile(n, 50, axis=0, method="lower"),
    "pad edge": lambda np, n, c: np.pad(n, ((1, 0), (0, 2)), mode="edge"),
    "pad reflect": lambda np, n, c: np.pad(n, ((1, 0), (0, 2)), mode="reflect"),
    "pad symmetric": lambda np, n, c: np.pad(n, ((1, 0), (0, 2)), mode="symmetric"),
    "pad maximum": lambda np, n, c: np.pad(n, ((1, 0), (0, 2)), mode="maximum"),
    "upper eigenvalues": lambda np, n, c: np.linalg.eigvalsh(np.array([[2.0, 9], [1, 3]]), UPLO="U"),
    "keepdims by place": lambda np, n, c: np.max(n, 0, None, True),
}


@pytest.mark.parametrize("case", SAME)
def test_as_numpy_has_it(case):
    found, wanted = SAME[case](np, np.array(PLAIN), np.array(CUBE)), SAME[case](onp, PLAIN, CUBE)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for ours, theirs in pairs:
        ours = ours.asnumpy() if isinstance(ours, mx.nd.NDArray) else ours
        assert onp.shape(ours) == onp.shape(theirs)
        onp.testing.assert_allclose(ours, theirs, rtol=1e-6)


REFUSED = {
    "order": lambda n: [
        make((2, 2), order="F") for make in (np.zeros, np.ones, np.empty, lambda s, order: np.full(s, 1, order=order))
    ],
    "order of a like array": lambda n: np.full_like(n, 3, order="F"),
    "shape of a like array": lambda n: np.empty_like(n, shape=(2,)),
    "order of a shape": lambda n: n.reshape(3, 2, order="F"),
    "order of a row": lambda n: np.ravel(n, order="F"),
    "order of a copied row": lambda n: n.flatten(order="F"),
    "order of a copy": lambda n: n.copy(order="F"),
    "fields to sort by": lambda n: np.sort(n, order="x"),
    "a sparse grid": lambda n: np.meshgrid(n[0], n[0], sparse=True),
    "an axis of linspace": lambda n: np.linspace(0, 1, 5, axis=1),
    "an array to write into": lambda n: np.percentile(n, 50, overwrite_input=True),
    "a mode of take": lambda n: np.take(n, np.array([1]), mode="bad"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_mxnet_does_not_support(case):
    n = np.array(PLAIN)
    with pytest.raises(NotImplementedError):
        REFUSED[case](n)
    assert n.tolist() == PLAIN.tolist()


def test_arguments_that_a_function_does_not_have():
    n = np.array(PLAIN)
    for wrong in (lambda: np.sort(n, bogus=1), lambda: np.max(n, dtype="int32"), lambda: n.reshape(3, 2, foo=1)):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            wrong()
    for options in ({"order": "F"}, {"casting": "safe"}, {"subok": False}):
        with pytest.raises(ValueError, match=next(iter(options))):
            n.astype("int32", **options)
    for places in ([5], [-1]):
        with pytest.raises(MXNetError, match="raise"):
            np.take(n, np.array(places), axis=1)
    with pytest.raises(MXNetError, match="size 1"):
        np.squeeze(n, axis=0)


WRITTEN = {
    "sum": ((3,), lambda n, out: np.sum(n, 0, None, out)),
    "max": ((3,), lambda n, out: np.max(n, 0, out)),
    "std": ((3,), lambda n, out: np.std(n, 0, None, out, 1)),
    "exp": ((2, 3), lambda n, out: np.exp(n, out)),
    "add": ((2, 3), lambda n, out: np.add(n, n, out)),
    "clip": ((2, 3), lambda n, out: n.clip(-1, 1, out)),
    "concatenate": ((4, 3), lambda n, out: np.concatenate([n, n], 0, out)),
    "full": ((2, 3), lambda n, out: np.full((2, 3), 7, out=out)),
    "quantile": ((3,), lambda n, out: np.quantile(n, 0.5, axis=0, out=out)),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_results_go_into_out(case):
    shape, call = WRITTEN[case]
    out = np.zeros(shape)
    assert call(np.array(PLAIN), out) is out
    assert out.tolist() == call(np.array(PLAIN), None).tolist()
    assert onp.any(out.asnumpy() != 0)


def test_further_arguments():
    hole = np.array([float("nan"), 1.0])
    assert np.nan_to_num(hole, copy=False) is hole
    assert hole.tolist() == [0, 1]
    assert np.array(PLAIN).clip(min=0).tolist() == PLAIN.clip(0).tolist()
    assert np.logspace(0, 2, 3, dtype="int32").dtype == np.indices((2, 2)).dtype == onp.int32
    assert np.hanning(4, dtype="float64").dtype == onp.float64
    mean, weights = np.average(np.array(PLAIN), axis=1, weights=np.array([1.0, 2, 3]), returned=True)
    assert mean.shape == (2,)
    assert weights.tolist() == 6
    assert np.bincount(np.array([1, 2, 2], dtype="int32")).dtype == onp.int32


def test_infinities_as_words_are_norms_of_all_elements():
    """Recorded from MXNet 1.9.1: as numbers they are norms of the rows."""
    square = np.arange(9.0).reshape(3, 3) - 4
    assert [float(np.linalg.norm(square, order)) for order in ("inf", "-inf", onp.inf)] == [4, 0, 9]
    assert np.linalg.norm(square, "inf", axis=1).tolist() == [4, 1, 4]


def test_the_inverse_of_unique_is_flat():
    found = np.unique(np.array([[3, 1, 1], [2, 2, 0]]), return_inverse=True)[1]
    assert found.asnumpy().tolist() == [3, 1, 1, 2, 2, 0]  # MXNet 1.9.1, recorded
