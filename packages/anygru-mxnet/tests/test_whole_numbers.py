"""Gradients through arrays of whole numbers, as MXNet 1.9.1 computes them (recorded)."""

import pytest

import anygru_mxnet as mx
from anygru_mxnet import MXNetError, autograd, gluon, nd

REALS = [1.5, 2.7, -3.2]
WHOLE = [1, 2, -3]


def gradient(function, values, dtype):
    x = nd.array(values, dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    assert x.grad.dtype == x.dtype
    return x.grad.asnumpy().tolist()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        # A cast to whole numbers and back passes gradients on, cut to whole numbers: 2.5 becomes 2.
        (lambda a: (a.astype("int32").astype("float32") * 2.5).sum(), [2, 2, 2]),
        (lambda a: (a.astype("int32") * 2).sum(), [2, 2, 2]),
    ],
)
def test_a_cast_passes_gradients_on(function, expected):
    assert gradient(function, REALS, "float32") == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a: a.astype("float32") * 2.5, [2, 2, 2]),
        (lambda a: a * 2.5, [2, 2, 2]),
        (lambda a: a / 2, [0, 0, 0]),
        (lambda a: a * a, [2, 4, -6]),
        (lambda a: nd.square(a) * 3, [6, 12, -18]),
        (lambda a: a[1:], [0, 1, 1]),
        (lambda a: a[0], [1, 0, 0]),
        (lambda a: -a, [-1, -1, -1]),
        (lambda a: abs(a), [1, 1, -1]),
        (lambda a: a**3, [3, 12, 27]),
        (lambda a: 2**a, [1, 2, 0]),
        (lambda a: a.sum(), [1, 1, 1]),
        (lambda a: a.mean(), [0, 0, 0]),
        (lambda a: a.max(), [0, 1, 0]),
        (lambda a: a.reshape((3, 1)), [1, 1, 1]),
        (lambda a: nd.SequenceMask(a.reshape((3, 1)), value=0), [1, 1, 1]),
        (lambda a: nd.take(a, nd.array([0, 1])), [1, 1, 0]),
        (lambda a: nd.concat(a, a, dim=0), [2, 2, 2]),
        (lambda a: nd.split(a.reshape((1, 3)), 3, axis=1)[1] * 5, [0, 5, 0]),
        (lambda a: nd.clip(a, -1, 1), [1, 0, 0]),
        (lambda a: nd.exp(a) * 5, [10, 35, 0]),
        (lambda a: nd.log(a * a), [2, 0, 0]),
        # These derivatives are computed from the result, which was cut to 0, -2 and 1 before.
        (lambda a: nd.tanh(a) * 3, [3, 3, 3]),
        (lambda a: nd.tan(a) * 2, [4, 10, 2]),
        (lambda a: nd.one_hot(a, 3), [0, 0, 0]),
        (lambda a: nd.broadcast_mul(a, nd.array([5], dtype="int32")), [5, 5, 5]),
        (lambda a: a > 1, [0, 0, 0]),
        (lambda a: nd.broadcast_mod(a, nd.array([2], dtype="int32")), [0, 0, 0]),
    ],
)
def test_operators_on_whole_numbers_have_gradients(function, expected):
    assert gradient(function, WHOLE, "int32") == expected


def test_gradients_of_eight_bits_wrap_round():
    assert gradient(lambda a: a * a * 100, [1, 2, 3], "uint8") == [200, 144, 88]


def test_autograd_grad_and_requests_to_add():
    x = nd.array(WHOLE, dtype="int32")
    x.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            y = x * 3
        y.backward()
    assert x.grad.asnumpy().tolist() == [6, 6, 6]
    with autograd.record():
        y = x * x
    (found,) = autograd.grad(y, [x])
    assert found.asnumpy().tolist() == [2, 4, -6]


def test_a_graph_is_forgotten_after_backward():
    x = nd.array(WHOLE, dtype="int32")
    x.attach_grad()
    with autograd.record():
        y = x * 3
        z = y * 2
    z.backward()
    with pytest.raises(MXNetError, match="not in a computational graph"):
        y.backward()
    with autograd.record(), pytest.raises(MXNetError, match="computational graph"):
        x += 1


@pytest.mark.parametrize(("hybrid", "expected"), [(False, 1), (True, 2)])
def test_the_last_state_of_a_hybridized_cell_is_a_head_of_its_own(hybrid, expected):
    """Its output and its state are one array before it is hybridized, and two after."""
    cell = gluon.rnn.GRUCell(1, input_size=1)
    cell.initialize(mx.init.One())
    if hybrid:
        cell.hybridize()
    found = []
    for heads in (lambda outputs, states: outputs, lambda outputs, states: outputs + states):
        x = nd.ones((1, 1, 1))
        x.attach_grad()
        with autograd.record():
            outputs, states = cell.unroll(1, x, layout="NTC", merge_outputs=False)
        autograd.backward(heads(outputs, states))
        found.append(x.grad.asscalar())
    assert found[1] == pytest.approx(expected * found[0])


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ((nd.array([0, 0]), slice(2, None), nd.array([0, 0, 0])), MXNetError),  # an empty slice is found first,
        ((5, [0, 3], slice(None), nd.array([2, 1, 2])), ValueError),  # then arrays that do not broadcast,
        ((5, [0, 1]), IndexError),  # then places outside
    ],
)
def test_faults_of_an_index_are_found_in_mxnets_order(index, error):
    with pytest.raises(error):
        nd.zeros((2, 2, 2, 2))[index]


def test_assignment_to_a_slice_that_ends_before_it_begins():
    x = nd.zeros((4,))
    with pytest.raises(AssertionError, match="ends before it begins"):
        x[-1:-3] = 3


def test_a_backward_slice_of_one_row_is_a_view():
    x = nd.zeros((2, 5))
    x[1, :-2:-1][:] = 7
    assert x.asnumpy().sum() == 7


def test_an_empty_array_of_numpy_shows_its_shape():
    assert repr(mx.np.zeros((4, 0, 2))) == "array([], shape=(4, 0, 2))"
    assert repr(mx.np.zeros((0, 1), dtype="int32")) == "array([], shape=(0, 1), dtype=int32)"


def test_a_method_reshape_to_fewer_elements_is_a_value_error():
    with pytest.raises(ValueError, match="Cannot reshape array of size 4"):
        nd.ones((1, 4)).reshape((3, -1))


@pytest.mark.parametrize(
    ("values", "parts", "axis", "error"),
    [(3.0, 1, 0, IndexError), ([1, 2, 3], 2, 0, ValueError), ([1], 1, 3, IndexError)],
)
def test_split_of_numpy_raises_pythons_errors(values, parts, axis, error):
    with pytest.raises(error):
        mx.np.split(mx.np.array(values), parts, axis)


def test_the_derivative_of_a_cube_root_at_zero_is_infinite():
    assert gradient(lambda a: nd.cbrt(a), [0.0, 8.0, -8.0], "float32") == [
        float("inf"),
        pytest.approx(1 / 12),
        pytest.approx(1 / 12),
    ]


def test_numbers_beyond_the_dtype_are_named():
    whole = mx.nd.array([1, 2], dtype="int32")
    # MXNet 1.9.1's answers (recorded).
    assert mx.nd.contrib.isfinite(whole).asnumpy().tolist() == [1, 1]
    assert mx.nd.contrib.isinf(whole).asnumpy().tolist() == [0, 0]
    for number in (float("inf"), float("-inf"), float("nan"), 1e30):
        with pytest.raises(mx.MXNetError, match="does not fit into an array of int32"):
            whole < number  # noqa: B015
        with pytest.raises(mx.MXNetError, match="does not fit"):
            number - whole


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_a_dtype_without_a_kernel_is_an_error_of_mxnet(dtype):
    matrix = mx.nd.array([[4, 2], [2, 3]], dtype=dtype)
    for name in ("potrf", "potri", "det", "inverse"):
        with pytest.raises(mx.MXNetError, match=f"_linalg_{name}"):
            getattr(mx.nd.linalg, name)(matrix)
    with pytest.raises(mx.MXNetError, match="Error in operator"):
        mx.sym.linalg.potri(mx.sym.var("x")).bind(mx.cpu(), {"x": matrix}).forward()
