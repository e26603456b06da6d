"""NDArray against NumPy, and where MXNet's rules differ from both NumPy's and torch's."""

import copy
import pickle

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru.errors import CheckpointError
from anygru_mxnet import MXNetError, nd


@pytest.fixture
def grid():
    return nd.arange(12).reshape((3, 4))


def same(array, expected, dtype="float32"):
    assert np.dtype(array.dtype).name == dtype
    np.testing.assert_allclose(array.asnumpy(), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int8", "uint8"])
def test_only_an_ndarray_keeps_its_dtype(dtype):
    same(nd.array(np.array([1, 2, 3], dtype)), [1, 2, 3])
    same(nd.array(nd.array([1, 2, 3], dtype=dtype)), [1, 2, 3], dtype)


def test_numbers_take_the_dtype_of_the_array():
    whole = nd.array([1, 2, 3], dtype="int32")
    same(whole + 1.7, [2, 3, 4], "int32")
    same(whole / 2, [0, 1, 1], "int32")
    same(7 / whole, [7, 3, 2], "int32")
    same(whole > 1.5, [0, 1, 1], "int32")
    same(nd.sqrt(whole), [1, 1, 1], "int32")


def test_results_have_at_least_one_axis(grid):
    assert grid.sum().shape == grid[1, 2].shape == grid.norm().shape == (1,)
    assert nd.dot(grid[0], grid[0]).shape == (1,)
    assert nd.array(3.0).shape == ()


def test_arithmetic_broadcasts_and_elementwise_operators_do_not(grid):
    row = nd.array([1, 2, 3, 4])
    same(grid + row, np.arange(12).reshape(3, 4) + [1, 2, 3, 4])
    with pytest.raises(MXNetError, match="one shape"):
        nd.elemwise_add(grid, row)


@pytest.mark.parametrize("other", [np.ones((3, 4)), [1, 2], None, "x"], ids=["numpy", "list", "None", "text"])
def test_arithmetic_with_anything_else_is_a_type_error(grid, other):
    for operation in (lambda: grid + other, lambda: other * grid, lambda: grid == other):
        with pytest.raises(TypeError):
            operation()


def test_mixed_dtypes_are_refused(grid):
    with pytest.raises(MXNetError, match="one dtype"):
        grid + grid.astype("float64")
    with pytest.raises(MXNetError, match="one dtype"):
        nd.concat(grid, grid.astype("int32"), dim=0)


@pytest.mark.parametrize(
    ("codes", "shape"),
    [
        ((-1,), (24,)),
        ((0, -1), (2, 12)),
        ((-2,), (2, 3, 4)),
        ((6, 1, -2), (6, 1, 4)),
        ((-3, 4), (6, 4)),
        ((0, -3), (2, 12)),
        ((-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, -4, -1, 3, -2), (2, 1, 3, 4)),
    ],
)
def test_codes_of_reshape(codes, shape):
    array = nd.zeros((2, 3, 4))
    assert array.reshape(codes).shape == nd.reshape(array, shape=codes).shape == shape


@pytest.mark.parametrize("codes", [(5, 5), (-1, -1), (0, 0, 0, 0), (-3, -3), (-4, 5, 2, -2), (-7,)])
def test_codes_that_do_not_fit(codes):
    with pytest.raises(MXNetError):
        nd.zeros((2, 3, 4)).reshape(codes)


KEYS = [
    0, -1, slice(1, 3), slice(None, None, 2), slice(None, None, -1), (slice(None), 1), (slice(None), slice(None, None, -2)),
    (Ellipsis, 0), (slice(None), None), [0, 2], ([0, 2], [1, 3]), (slice(None), [0, 1]), (0, [1, 2]), np.array([[0, 1], [1, 2]]),
    ([0, 1], slice(None, 2)), (slice(1, 3), slice(1, 3)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=[str(key).replace("\n", "") for key in KEYS])
def test_indexing_is_numpys(grid, key):
    plain = np.arange(12, dtype="float32").reshape(3, 4)
    same(grid[key], plain[key])
    value = np.random.RandomState(0).randn(*plain[key].shape)
    grid[key] = nd.array(value)
    plain[key] = value
    same(grid, plain)
    grid[key] = 7
    plain[key] = 7
    same(grid, plain)


def test_indices_outside(grid):
    for key in (3, -4, (0, 4), (0, 0, 0), [5]):
        with pytest.raises(IndexError):
            grid[key]
    for key in ("x", 1.5):
        with pytest.raises(ValueError, match="slicing"):
            grid[key]
    with pytest.raises(ValueError, match="broadcast"):
        grid[0] = nd.ones((3,))
    with pytest.raises(TypeError, match="non-array-like"):
        grid[0] = "x"


SHARING = {
    "row": lambda a: a[1], "rows": lambda a: a[1:], "reshape": lambda a: a.reshape((4, 3)), "detach": lambda a: a.detach(),
    "whole": lambda a: a[:], "part of a row": lambda a: a[1, 1:3],
}  # fmt: skip
COPYING = {
    "column": lambda a: a[:, 1], "transpose": lambda a: a.T, "operator reshape": lambda a: nd.reshape(a, shape=(4, 3)),
    "flatten": lambda a: a.flatten(), "expand_dims": lambda a: a.expand_dims(0), "identity": nd.identity,
    "slice": lambda a: nd.slice(a, begin=(0, 0), end=(2, 2)), "split": lambda a: nd.split(a, num_outputs=2)[0],
    "dropout": nd.Dropout, "astype": lambda a: a.astype("float32"), "copy": lambda a: a.copy(), "list": lambda a: a[[0, 1]],
    "broadcast": lambda a: nd.broadcast_to(a, shape=(3, 4)), "mask": nd.SequenceMask, "array": nd.array,
    "stop_gradient": nd.BlockGrad, "method broadcast": lambda a: a.broadcast_to((3, 4)),
    "broadcast_like": lambda a: a.broadcast_like(a), "gather": lambda a: nd.gather_nd(a, nd.array([0])),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARING)
def test_what_shares_memory(grid, name):
    SHARING[name](grid)[:] = -1
    assert (grid.asnumpy() == -1).any()


@pytest.mark.parametrize("name", COPYING)
def test_what_is_a_copy(grid, name):
    COPYING[name](grid)[:] = -1
    assert not (grid.asnumpy() == -1).any()


def test_conversions(grid):
    assert str(nd.array([[1, 2], [3, 4.5]])) == "\n[[1.  2. ]\n [3.  4.5]]\n<NDArray 2x2 @cpu(0)>"
    assert nd.array([2.5]).asscalar() == 2.5
    with pytest.raises(ValueError, match="scalar"):
        grid.asscalar()
    with pytest.raises(ValueError, match="ambiguous"):
        bool(grid)
    with pytest.raises(TypeError):
        float(nd.array([1]))
    same(pickle.loads(pickle.dumps(grid)), grid.asnumpy())
    same(copy.deepcopy(grid), grid.asnumpy())
    assert str(grid.as_in_context(mx.cpu(2)).context) == "cpu(2)"
    assert grid.as_in_context(mx.cpu()) is grid


def test_pickles_keep_the_class_and_read_the_states_of_mxnet():
    assert type(pickle.loads(pickle.dumps(mx.np.ones(3)))) is mx.np.ndarray
    # The state in `pickle.dumps(nd.arange(3).astype("int32"))` of MXNet 1.9.1, which calls `NDArray(None)` first.
    record = (
        bytes.fromhex("c9fa93f9000000000100000003000000000000000100000000000000040000000000000001000000") + b"\2\0\0\0"
    )
    read = nd.NDArray(None)
    read.__setstate__({"handle": bytearray(record)})
    same(read, [0, 1, 2], "int32")
    with pytest.raises(CheckpointError, match="must contain its bytes"):
        read.__setstate__({"handle": None})


@pytest.mark.parametrize("name", ["abs", "exp", "argsort", "sum", "dot", "batch_dot"])
def test_none_for_an_array_is_an_error_of_mxnet_that_names_the_input(name: str) -> None:
    function = getattr(mx.nd, name)
    given = (mx.nd.ones((2, 2, 2)), None) if name.endswith("dot") else (None,)
    with pytest.raises(MXNetError, match=rf"(?s){'rhs' if len(given) > 1 else 'data'}.*None"):
        function(*given)


def test_errors_of_operators(grid):
    with pytest.raises(AssertionError, match="data must have NDArray type"):
        nd.sum(3)
    with pytest.raises(MXNetError, match="Cannot find argument 'foo'"):
        nd.sum(grid, foo=1)
    with pytest.raises(MXNetError, match="a_max"):
        nd.clip(grid, 2)
    with pytest.raises(MXNetError, match="out of bounds"):
        grid.sum(axis=5)
    with pytest.raises(MXNetError, match="at least 1"):
        nd.zeros((0, 3))


def test_sequences_of_several_lengths():
    data = np.random.RandomState(0).randn(4, 3, 2)
    lengths = [2, 4, 1]
    array, sizes = nd.array(data), nd.array(lengths)
    masked, last, turned = data.copy(), np.empty((3, 2)), data.copy()
    for row, length in enumerate(lengths):
        masked[length:, row] = -5
        last[row] = data[length - 1, row]
        turned[:length, row] = data[:length, row][::-1]
    known = {"sequence_length": sizes, "use_sequence_length": True}
    same(nd.SequenceMask(array, value=-5, **known), masked)
    same(nd.SequenceLast(array, **known), last)
    same(nd.SequenceReverse(array, **known), turned)


def test_the_seed_makes_numbers_repeat():
    draws = []
    for seed in (3, 3, 4):
        mx.random.seed(seed)
        draws.append(nd.random.normal(shape=(5,)).asnumpy())
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_sparse_storage_is_refused(grid):
    with pytest.raises(NotImplementedError, match="sparse"):
        grid.tostype("csr")
    with pytest.raises(NotImplementedError, match="sparse"):
        nd.zeros((2, 2), stype="row_sparse")


def scalar(value, dtype):
    return nd.array([value], dtype=dtype).asscalar()


@pytest.mark.parametrize(
    ("dtype", "other", "expected"),
    [
        ("float32", 0.5, "float64"), ("float32", 2, "float64"), ("float32", True, "float32"),
        ("float32", np.float32(2), "float32"), ("float16", 0.5, "float64"), ("int32", 2, "int64"),
        ("int32", 0.5, "float64"), ("float64", 2, "float64"),
    ],
)  # fmt: skip
def test_scalars_meet_python_numbers_as_before_numpy_2(dtype, other, expected):
    one = scalar(3, dtype)
    for result in (one + other, other + one, one * other, other - one, one**other):
        assert result.dtype.name == expected
    assert (-one).dtype.name == one.dtype.name == dtype


def test_a_sum_of_scalars_in_a_python_number_is_double():
    total = 0.0
    for value in nd.array([0.1, 0.2, 0.3]):
        total += value.asscalar()
    assert type(total / 3).__name__ == "float64"
    assert total == sum(float(np.float32(v)) for v in (0.1, 0.2, 0.3))
    assert scalar(0.1, "float32") != 0.1
    assert scalar(0.1, "float32") > 0.1


def test_a_scalar_is_otherwise_numpys():
    one = scalar(1.5, "float32")
    assert isinstance(one, np.float32)
    assert repr([one, scalar(2, "int32")]) == "[1.5, 2]"
    assert type(pickle.loads(pickle.dumps(one))) is np.float32
    assert hash(one) == hash(1.5)
    same(one * nd.ones((2,)), [1.5, 1.5])
    with pytest.raises(TypeError):
        one + "a"


def test_the_remainder_of_a_division_by_zero_is_zero():
    same(nd.array([-5, 5]) % nd.array([3, 0]), [1, 0])
    same(nd.array([5, 7], dtype="int32") % 0, [0, 0], "int32")


def test_numbers_of_operators_are_single_in_double_arrays():
    tenth = float(np.float32(0.1))
    values = nd.array([-1, 0.2], dtype="float64")
    assert nd.clip(values, 0.1, 3).asnumpy()[0] == tenth
    assert nd.LeakyReLU(values, act_type="leaky", slope=0.1).asnumpy()[0] == -tenth
    lengths = nd.array([1], dtype="float64")
    assert nd.SequenceMask(values.reshape((2, 1)), lengths, True, value=0.1).asnumpy()[1, 0] == tenth


def test_the_reciprocal_cube_root_of_zero_has_its_sign():
    same(nd.array([0.0, -0.0, 8, -8]).rcbrt(), [np.inf, -np.inf, 0.5, -0.5])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_randomized_relu_draws_slopes_in_training_only(dtype):
    x = nd.array([[-1, 2, -3]] * 500, dtype=dtype)
    x.attach_grad()
    output, slopes = nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.2, upper_bound=0.4)
    np.testing.assert_allclose(output[0].asnumpy(), [-0.3, 2, -0.9], rtol=1e-3)  # MXNet 1.9.1's numbers
    with mx.autograd.record():
        output, slopes = nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.2, upper_bound=0.4)
    output.backward()
    drawn, values = slopes.asnumpy(), x.asnumpy()
    assert output.dtype == slopes.dtype == np.dtype(dtype)
    assert np.asarray(0.2, dtype) <= drawn.min() < drawn.max() <= np.asarray(0.4, dtype)
    assert drawn.std() > 0.05  # of the uniform distribution: 0.0577
    np.testing.assert_allclose(output.asnumpy(), np.where(values > 0, values, values * drawn), rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), np.where(values > 0, 1, drawn), rtol=1e-6)


def test_what_is_no_array_is_refused_with_mxnets_errors():
    ones = nd.ones((2,))
    for call, error in (
        (lambda: nd.array([ones, ones]), TypeError),
        (lambda: nd.concatenate([]), AssertionError),
        (lambda: nd.arange(0), MXNetError),
        (lambda: np.ones(2, "float32") - ones, AssertionError),
        (lambda: nd.ones((2, 3)).transpose(1, 0), TypeError),
        (lambda: ones.reshape(size=3), AssertionError),
    ):
        with pytest.raises(error):
            call()


def test_an_array_over_numpys_memory_makes_it_read_only():
    values = np.ones(2, "float32")
    shared = nd.from_numpy(values)
    assert not values.flags.writeable
    shared[:] = 3
    assert values.tolist() == [3, 3]


def test_small_numbers_are_cut_to_their_dtype():
    same(nd.array([1.7, -2.2], dtype="int8"), [1, -2], "int8")


def test_loops_and_branches_of_contrib():
    def step(i, total):
        return [i, total * 2], [i + 1, total + i]

    start = [nd.array([0.0]), nd.array([1.0, 2.0])]
    outputs, variables = nd.contrib.while_loop(lambda i, _: i < 2, step, start, max_iterations=3)
    same(outputs[0], [[0], [1], [0]])
    same(outputs[1], [[2, 4], [2, 4], [0, 0]])
    same(variables[1], [2, 3])
    output, last = nd.contrib.while_loop(lambda i: i < 9, lambda i: (i * 2, i + 1), nd.array([0.0]), max_iterations=2)
    same(output, [[0], [2]])
    same(last, [2])
    with pytest.raises(ValueError, match="max_iterations"):
        nd.contrib.while_loop(lambda i: i < 1, lambda i: (i, i + 1), nd.array([0.0]))
    same(nd.contrib.cond(nd.array([0]), lambda: nd.ones((1,)), lambda: nd.zeros((1,))), [0])
    same(nd.contrib.div_sqrt_dim(nd.ones((1, 4))), [[0.5] * 4])


def test_draws_like_an_array():
    assert nd.random.uniform_like(nd.ones((2, 3)), low=4, high=5).asnumpy().min() >= 4
    assert nd.random.normal_like(nd.ones((2, 3)), loc=100, scale=0.1).shape == (2, 3)


def test_concatenate_requires_one_dtype_and_may_return_the_only_array(grid):
    with pytest.raises(AssertionError, match="one dtype"):
        nd.concatenate([grid, grid.astype("float64")])
    assert nd.concatenate([grid], always_copy=False) is grid
    assert nd.concatenate([grid]) is not grid


def test_flat_positions_and_places_in_an_array():
    flat = nd.array([5, 7])
    places = nd.unravel_index(flat, shape=(3, 4))
    same(places, np.unravel_index([5, 7], (3, 4)))
    same(nd.ravel_multi_index(places, shape=(3, 4)), [5, 7])


def test_arrays_of_one_number_convert_as_in_mxnets_time():
    total = nd.arange(4).sum().asnumpy()
    assert (float(total), int(total), f"{complex(total)}", "%.1f" % total) == (6.0, 6, "(6+0j)", "6.0")  # noqa: UP031
    assert float(total / 4) == 1.5
    column = nd.array([[1], [2]]).asnumpy()
    assert [float(row) for row in column] == [1, 2]
    assert int(nd.array([[2]]).asscalar()) == 2
    with pytest.raises(TypeError, match="size-1"):
        float(column)


def test_arrays_of_one_number_are_numpys_otherwise():
    total = nd.array([1.5]).asnumpy()
    assert repr(total) == "array([1.5], dtype=float32)"
    assert type(total).__name__ == "ndarray"
    assert type(total.sum()) is np.float32
    assert type(total[0]) is np.float32
    assert total.squeeze().shape == ()
    again = pickle.loads(pickle.dumps(total))
    assert type(again) is np.ndarray
    assert again.tolist() == [1.5]
    assert type(nd.ones((2, 3)).asnumpy()) is np.ndarray


def test_a_softmax_in_another_dtype_was_computed_in_the_inputs():
    scores = nd.array([[2.0, -1.5, 0.25]], dtype="float16")
    for function in (nd.softmax, nd.log_softmax, nd.softmin):
        wide = function(scores, dtype="float64")
        assert wide.dtype is np.float64
        np.testing.assert_array_equal(wide.asnumpy(), function(scores).asnumpy().astype("float64"))


def test_negative_steps_of_numpys_arrays_turn_each_axis():
    square = mx.np.arange(9).reshape(3, 3)
    np.testing.assert_array_equal(square[::-1, ::-1].asnumpy(), np.arange(9).reshape(3, 3)[::-1, ::-1])
    square[::-1, 0] = mx.np.array([7, 8, 9])
    np.testing.assert_array_equal(square[:, 0].asnumpy(), [9, 8, 7])
    with pytest.raises(IndexError, match="scalar tensor"):
        mx.np.array(3.0)[0]


def test_shapes_as_heads_have_a_gradient_of_zero():
    x = nd.ones((2, 3))
    x.attach_grad()
    x.grad[:] = 5
    with mx.autograd.record():
        shape = x.shape_array()
    shape.backward()
    assert x.grad.asnumpy().tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("whole", [int, np.int64, np.int32])
def test_whole_numbers_of_numpy_are_whole_numbers(whole):
    mx.random.seed(whole(3))
    drawn = mx.nd.random.uniform(shape=whole(2)).asnumpy()
    mx.random.seed(3)
    assert (mx.nd.random.uniform(shape=2).asnumpy() == drawn).all()
    assert mx.nd.moveaxis(mx.nd.ones((2, 3, 4)), whole(0), whole(2)).shape == (3, 4, 2)
    assert mx.np.random.choice(whole(3), whole(2)).shape == (2,)
