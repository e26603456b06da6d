"""The replacement of CuPy's array, around tensors on the CPU: it does not depend on the device."""

import operator

import numpy as np
import pytest
import torch

from anygru_chainer.backends._gpu_array import ndarray, torch_dtype

X = np.arange(6, dtype="f").reshape(2, 3) - 2


def wrapped(array):
    return ndarray(torch.from_numpy(np.array(array)))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "pow", "lt", "ge", "eq", "ne"])
@pytest.mark.parametrize("other", [2.0, np.float32(2), X + 3])
def test_operators_are_numpys(name, other):
    function = getattr(operator, name)
    right = wrapped(other) if isinstance(other, np.ndarray) else other
    np.testing.assert_allclose(function(wrapped(X), right).get(), function(X, other), rtol=1e-6)


@pytest.mark.parametrize("name", ["sub", "truediv", "pow"])
def test_operators_from_the_right_are_numpys(name):
    function = getattr(operator, name)
    np.testing.assert_allclose(function(2.0, wrapped(X + 3)).get(), function(2.0, X + 3), rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "std"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_are_numpys(name, axis):
    np.testing.assert_allclose(getattr(wrapped(X), name)(axis=axis).get(), getattr(X, name)(axis=axis), rtol=1e-6)


def test_in_place_operators_keep_the_memory():
    array = wrapped(X)
    tensor = array.tensor
    array *= 2
    array += wrapped(X)
    assert array.tensor.data_ptr() == tensor.data_ptr()
    np.testing.assert_array_equal(array.get(), X * 3)


def test_indexing_reads_and_writes():
    array = wrapped(X)
    np.testing.assert_array_equal(array[:, 1].get(), X[:, 1])
    np.testing.assert_array_equal(array[np.array([1, 0])].get(), X[[1, 0]])
    array[...] = 0
    array[0] = wrapped(np.ones(3))
    np.testing.assert_array_equal(array.get(), [[1, 1, 1], [0, 0, 0]])


def test_values_are_set_and_copied():
    array = wrapped(X)
    copy = array.copy()
    array.set(X + 1)
    np.testing.assert_array_equal(copy.get(), X)
    np.testing.assert_array_equal(array.get(), X + 1)
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        array.set(X[0])


def test_what_numpy_would_copy_silently_is_refused():
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(wrapped(X))
    with pytest.raises(TypeError, match="cannot have the dtype"):
        torch_dtype("U3")


def test_shapes_and_dtypes_are_numpys():
    array = wrapped(X)
    assert (array.shape, array.ndim, array.size, array.dtype, len(array)) == ((2, 3), 2, 6, np.dtype("float32"), 2)
    assert array.astype("float64").dtype == np.dtype("float64")
    assert array.T.shape == (3, 2)
    assert array.reshape(3, 2).shape == array.reshape((3, -1)).shape == (3, 2)
    assert float(array[0, 0]) == -2
