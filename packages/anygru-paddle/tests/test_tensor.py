"""The tensor: Paddle's facts, dtypes, indexing, gradients and printing, against NumPy and values written in Paddle's manual."""

import numpy as np
import pytest
import torch

import anygru_paddle as paddle
from anygru_paddle.base.errors import NoTensorError
from anygru_paddle.nn import functional as F


def leaf(*values):
    return paddle.to_tensor(list(values), stop_gradient=False)


def test_facts():
    t = paddle.to_tensor([[1.0, 2.0, 3.0]])
    assert isinstance(t, torch.Tensor)
    assert t.shape == [1, 3]
    assert (t.size, t.ndim, len(t)) == (3, 2, 1)
    assert str(t.dtype) == "paddle.float32"
    assert t.stop_gradient
    assert t.is_leaf
    assert str(t.place).startswith("Place(")
    assert t.numel().shape == []
    assert t.tolist() == [[1.0, 2.0, 3.0]]


I64, F32 = paddle.to_tensor([1, 2]), paddle.to_tensor([1.5, 2.5])
F64, BOOL = paddle.to_tensor([1.5, 2.5], dtype="float64"), paddle.to_tensor([True, False])
SQUARE = paddle.ones([2, 2])
TINY = paddle.to_tensor([[1e-6, 0.0]])
PAIRS = paddle.to_tensor([[1, 1], [2, 2]])


@pytest.mark.parametrize(
    ("compute", "dtype", "values"),
    [
        (lambda: I64 + F32, "int64", [2, 4]),
        (lambda: F32 + I64, "float32", [2.5, 4.5]),
        (lambda: F32 + F64, "float64", [3.0, 5.0]),
        (lambda: I64 + 1.5, "float32", [2.5, 3.5]),
        (lambda: I64 / 2, "float32", [0.5, 1.0]),
        (lambda: 1.5 - I64, "float32", [0.5, -0.5]),
        (lambda: I64 // 2, "int64", [0, 1]),
        (lambda: I64**2, "int64", [1, 4]),
        (lambda: F32 % 1, "float32", [0.5, 0.5]),
        (lambda: F32 + np.array([1.0, 2.0]), "float64", [2.5, 4.5]),
        (lambda: np.array([1.0, 2.0]) * F32, "float64", [1.5, 5.0]),
        (lambda: BOOL.sum(), "int64", 1),
        (lambda: I64.astype("int32").sum(), "int64", 3),
        (lambda: I64.mean(), "int64", 1),
        (lambda: paddle.full([2], 7), "float32", [7.0, 7.0]),
        (lambda: paddle.arange(3), "int64", [0, 1, 2]),
        (lambda: paddle.exp(I64), "float32", [np.e, np.e**2]),
        (lambda: F32 == 2.5, "bool", [False, True]),
        (lambda: paddle.to_tensor([np.float16(1)]), "float32", [1.0]),
        (lambda: paddle.to_tensor([np.int32(1)]), "int64", [1]),
        (lambda: paddle.heaviside(paddle.to_tensor([np.nan, 0.0]), F32), "float32", [0.0, 2.5]),
        (lambda: F.cosine_embedding_loss(TINY, TINY, paddle.ones([1])), "float32", 0.90909088),
        (lambda: paddle.unique_consecutive(PAIRS, return_inverse=True)[1], "int64", [0, 0, 1, 1]),
        (lambda: paddle.unique_consecutive(PAIRS, return_counts=True)[1], "int64", [2, 2]),
    ],
)
def test_dtypes_of_results(compute, dtype, values):
    out = compute()
    assert type(out) is paddle.Tensor
    assert out.dtype.spelling == dtype
    np.testing.assert_allclose(out.numpy(), values, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paddle.add(I64, F32), ValueError, "one dtype"),
        (lambda: paddle.concat([I64, F32]), ValueError, "isn't consistent"),
        (lambda: F32.reshape([3]), ValueError, "InvalidArgument"),
        (lambda: paddle.ones([2, 3]) @ paddle.ones([2, 3]), ValueError, "InvalidArgument"),
        (lambda: F32[7], IndexError, "OutOfRange"),
        (lambda: F32["a"], ValueError, "received str"),
        (lambda: F32.item(), ValueError, "only one element"),
        (lambda: bool(F32), AssertionError, "one element"),
        (lambda: len(paddle.to_tensor(1.0)), AssertionError, "0-D"),
        (lambda: F32.set_value(np.zeros(3, "float32")), AssertionError, "Shape not match"),
        (lambda: F32.set_value(np.zeros(2)), AssertionError, "dtype not match"),
        (lambda: paddle.tanh(I64), RuntimeError, "float"),
        (lambda: paddle.tanh([1.0]), ValueError, "must be Tensor"),
        (lambda: paddle.linalg.lu(paddle.ones([2, 2]), pivot=False), ValueError, "without pivoting"),
        (lambda: paddle.nonzero(paddle.ones([])), ValueError, "one axis"),
        (lambda: paddle.real(F32), RuntimeError, "real"),
        (lambda: F32.imag(), RuntimeError, "imag"),
        (lambda: paddle.angle(I64), RuntimeError, "angle"),
        (lambda: F.softmax(F32, dtype="foo"), TypeError, "foo"),
        (lambda: F.cosine_embedding_loss(PAIRS, PAIRS, I64), ValueError, "float32"),
        (lambda: F.cosine_embedding_loss(F32, F32, F32[0]), ValueError, "1-D"),
        (lambda: setattr(leaf(1.0), "grad", None), ValueError, "must be Tensor"),
        (lambda: leaf(1.0).add_(paddle.ones([1])), ValueError, "inplace"),
        (lambda: paddle.to_tensor("a"), TypeError, "data type"),
        (lambda: paddle.to_tensor([[1, 2], [3]]), ValueError, "differ in length|inhomogeneous"),
        (lambda: paddle.split(paddle.ones([5]), 2), ValueError, "equal parts"),
        (lambda: paddle.tanh(), TypeError, "missing"),
    ],
)
def test_errors_are_paddles(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert caught.type in (NoTensorError, error)


@pytest.mark.parametrize("given", [[[1.0, 2.0]], (1.0,), 1.5, np.ones((2, 2), "float32"), "x", None])
@pytest.mark.parametrize(
    "call",
    [
        lambda given: F.mse_loss(given, SQUARE),
        lambda given: F.l1_loss(SQUARE, given),
        lambda given: F.cross_entropy(given, I64),
        lambda given: F.kl_div(SQUARE, given),
        lambda given: F.cosine_embedding_loss(SQUARE, given, F32),
        lambda given: F.prelu(given, SQUARE[0]),
        lambda given: F.max_pool2d(given, 2),
        lambda given: F.batch_norm(SQUARE, given, SQUARE[0], SQUARE[0], SQUARE[0]),
        lambda given: paddle.divide(given, SQUARE),
        lambda given: paddle.gather(given, I64 - 1),
        lambda given: paddle.allclose(given, SQUARE),
        lambda given: paddle.numel(given),
        lambda given: paddle.unique(given),
        lambda given: paddle.metric.accuracy(SQUARE, label=given),
    ],
)
def test_what_is_no_tensor_is_named(call, given):
    """2.6.2 raises ValueError or, where Python asks for a shape first, AttributeError (1,782 calls were recorded)."""
    with pytest.raises(ValueError, match=f"must be Tensor, but got {type(given).__name__}") as caught:
        call(given)
    assert isinstance(caught.value, AttributeError)


def test_indexing_follows_numpy():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    t = paddle.to_tensor(array)
    rows = np.array([1, 0])
    for index in (
        np.s_[0],
        np.s_[..., 1],
        np.s_[:, ::-1],
        np.s_[::-1, :, ::-2],
        np.s_[None, 1:],
        np.s_[[0, 1], [2, 0]],
        rows,
    ):
        np.testing.assert_array_equal(t[index].numpy(), array[index])
    np.testing.assert_array_equal(t[t > 10].numpy(), array[array > 10])
    t[:, 1] = -1
    t[::-1, 0, 0] = paddle.to_tensor([5.0, 6.0])
    array[:, 1] = -1
    array[::-1, 0, 0] = [5.0, 6.0]
    np.testing.assert_array_equal(t.numpy(), array)


def test_numbers_get_the_dtype_asked_for_without_a_detour():
    assert paddle.to_tensor([0.1, 1], dtype="float64").tolist() == [0.1, 1.0]
    assert paddle.to_tensor(0.1, paddle.float64).item() == 0.1
    assert paddle.to_tensor([0.1]).item() == pytest.approx(0.10000000149011612, abs=1e-17)


def test_augmented_assignment_makes_a_new_tensor():
    t = paddle.ones([2])
    same = t
    t += 1
    assert same.tolist() == [1.0, 1.0]
    assert t.tolist() == [2.0, 2.0]


def test_gradients():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [2.0, 4.0]
    assert not x.grad.stop_gradient
    y.backward()
    with pytest.raises(SystemError):
        y.backward()
    assert x.gradient().tolist() == [4.0, 8.0]
    x.clear_grad()
    assert x.grad.tolist() == [0.0, 0.0]
    x.clear_grad(set_to_zero=False)
    assert x.grad is None
    (x * 2).backward()
    assert x.grad.tolist() == [2.0, 2.0]
    paddle.to_tensor([1.0]).backward()  # nothing to do


def test_second_derivatives():
    x = leaf(1.5)
    first = paddle.grad(x**3, x, create_graph=True)[0]
    assert paddle.grad(first, x)[0].item() == pytest.approx(9.0)
    assert x.grad is None


def test_max_gives_every_equal_the_gradient_and_amax_shares_it():
    x, y = leaf(3.0, 3.0, 1.0), leaf(3.0, 3.0, 1.0)
    x.max().backward()
    y.amax().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0]
    assert y.grad.tolist() == [0.5, 0.5, 0.0]


def test_cutting_the_graph():
    x = leaf(2.0)
    y = x * 3
    y.stop_gradient = True
    (y * x).backward()
    assert x.grad.tolist() == [6.0]


def test_printing():
    head = "Tensor(shape=[3], dtype=float32, place=Place(cpu), stop_gradient=True,\n       "
    assert repr(paddle.to_tensor([1.0, -0.5, 2.25], place="cpu")) == head + "[ 1.        , -0.50000000,  2.25000000])"
    assert repr(paddle.to_tensor([[1, 2], [30, 4]], place="cpu")).endswith("\n       [[1 , 2 ],\n        [30, 4 ]])")
    assert "..., 1997, 1998, 1999]" in repr(paddle.arange(2000))


def test_torchs_code_sees_torchs_words():
    t = paddle.ones([2, 3])
    assert t.size() == torch.Size([2, 3])
    assert t.size(1) == 3
    value = torch.nn.functional.cross_entropy(t, torch.tensor([0, 1]))
    assert float(value) == pytest.approx(np.log(3))


def test_to_changes_the_tensor_itself():
    tensor = paddle.to_tensor([1.0, 2.5], stop_gradient=False)
    assert tensor.to("float64") is tensor
    assert tensor.dtype == paddle.float64
    assert not tensor.stop_gradient
    result = tensor * 2
    result.to("float32").sum().backward()
    assert result.dtype == paddle.float64
    assert tensor.grad.numpy().tolist() == [2.0, 2.0]


def test_numbers_in_where_count_as_numpy_has_them():
    tensor = paddle.to_tensor([1.0, -1.0])
    assert paddle.where(tensor > 0, tensor, 0.0).dtype == paddle.float64
    assert paddle.where(tensor > 0, 1, 0).dtype == paddle.int64
    with pytest.raises(ValueError, match="dtype"):
        paddle.where(tensor > 0, tensor, 0)
    with pytest.raises(ValueError, match="condition must be bool"):
        paddle.where(tensor, tensor, tensor)


def test_values_without_a_dtype():
    assert paddle.full([1], True).dtype == paddle.float32
    with pytest.warns(UserWarning, match="doesn't support float64"):
        assert paddle.assign(2.5).shape == [1]
    assert paddle.assign([1, 2]).dtype == paddle.int64
    assert (paddle.to_tensor([3]) - True).numpy().tolist() == [2]
    assert [each for each in paddle.to_tensor(2.5)] == []  # noqa: C416 - list() would ask for len()


def test_rounding_divisions_have_no_gradient():
    tensor = paddle.to_tensor([5.0], stop_gradient=False)
    other = paddle.to_tensor([2.0])
    for result in (tensor // 2, tensor % 2, tensor // other, paddle.mod(tensor, other), tensor.floor_divide(other)):
        assert result.stop_gradient


def test_comparing_whole_tensors_needs_one_dtype():
    for compare in (paddle.logical_and, paddle.logical_or, paddle.logical_xor, paddle.equal_all):
        with pytest.raises(ValueError, match="dtype"):
            compare(paddle.ones([1]), paddle.to_tensor([1]))


def test_removing_a_gradient_hook_twice_warns():
    hook = paddle.to_tensor([1.0], stop_gradient=False).register_hook(lambda gradient: gradient)
    assert hook.remove()
    with pytest.warns(RuntimeWarning, match=r"hook \(ID: 0\) of Tensor"):
        assert not hook.remove()


def test_data_is_the_tensor():
    tensor = paddle.to_tensor([1.0], stop_gradient=False)
    assert tensor.data is tensor
    tensor.data = paddle.to_tensor([2.0])
    assert tensor.stop_gradient
    assert tensor.numpy().tolist() == [2.0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.clip(-1.0, 2.0), [0, 0, 1, 1, 0, 0]),
        (lambda x: x.clip(min=0.0), [0, 0, 0, 1, 1, 1]),
        (lambda x: (x * 1).clip_(-1.0, 2.0), [0, 0, 1, 1, 0, 0]),
        (lambda x: paddle.maximum(x, paddle.zeros([6])), [0, 0, 0, 1, 1, 1]),
        (lambda x: paddle.maximum(paddle.zeros([6]), x), [0, 0, 1, 1, 1, 1]),
        (lambda x: paddle.minimum(x, paddle.zeros([6])), [1, 1, 0, 0, 0, 0]),
        (lambda x: F.relu6(x * 2 + 2), [0, 0, 2, 2, 0, 0]),
        (lambda x: F.hardtanh(x), [0, 0, 1, 0, 0, 0]),
        (lambda x: F.leaky_relu(x, 0.5), [0.5, 0.5, 1, 1, 1, 1]),
        (lambda x: F.maxout((x - x.detach()).reshape([1, 6, 1, 1]), 3), [1, 0, 0, 1, 0, 0]),
        (lambda x: paddle.heaviside(x + np.nan, paddle.ones([6])), [0] * 6),
        (lambda x: paddle.renorm(paddle.stack([x, x * 0]), 2.0, 0, 100.0), [1] * 6),
        (lambda x: F.softmax_with_cross_entropy(paddle.ones([6]), x, soft_label=True) + x.sum(), [1] * 6),
        (lambda x: F.hinge_embedding_loss(x, -paddle.ones([6]), 1.0, "sum"), [-1, -1, -1, 0, 0, 0]),
    ],
)
def test_gradients_on_a_bound_are_paddles(function, expected):
    x = paddle.to_tensor([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], stop_gradient=False)
    function(x).sum().backward()
    assert x.grad.tolist() == expected


def test_maximum_keeps_nan_of_the_second_operand_only():
    nan = float("nan")
    out = paddle.maximum(paddle.to_tensor([nan, 1.0]), paddle.to_tensor([1.0, nan])).tolist()
    assert out[0] == 1.0
    assert out[1] != out[1]


@pytest.mark.parametrize("name", ["sin_", "log_", "square_", "abs_", "pow_"])
def test_in_place_operations_have_gradients(name):
    x = paddle.to_tensor([0.5, 2.0], stop_gradient=False)
    arguments = [3.0] if name == "pow_" else []
    getattr(x * 1, name)(*arguments).sum().backward()
    y = torch.tensor([0.5, 2.0], requires_grad=True)
    getattr(torch, name[:-1])(y, *arguments).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-6)


def test_one_value_has_no_variance():
    assert float(paddle.ones([1]).std()) == 0.0
    assert paddle.ones([3, 1]).var(axis=1).tolist() == [0.0, 0.0, 0.0]


def test_gradient_that_is_set():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    x.grad = paddle.ones([1])
    assert x.grad.tolist() == [1.0]
    assert x.grad.stop_gradient is False


def test_put_along_axis_in_place_and_abs():
    x = paddle.zeros([2, 2])
    x.put_along_axis_(paddle.to_tensor([[1], [0]]), -3.0, 1)
    assert x.tolist() == [[0.0, -3.0], [-3.0, 0.0]]
    assert isinstance(abs(x), paddle.Tensor)
    assert abs(x).tolist() == [[0.0, 3.0], [3.0, 0.0]]


def test_transforms_are_torchs_under_paddles_names():
    x = np.random.RandomState(0).rand(3, 4, 6)
    given = paddle.to_tensor(x)
    np.testing.assert_allclose(paddle.fft.rfft(given, 5, axis=1, norm="ortho").numpy(), np.fft.rfft(x, 5, 1, "ortho"))
    np.testing.assert_allclose(paddle.fft.fftn(given, s=(3, 5), axes=(0, 1)).numpy(), np.fft.fftn(x, (3, 5), (0, 1)))
    np.testing.assert_allclose(paddle.fft.ifft2(given).numpy(), np.fft.ifft2(x))
    np.testing.assert_allclose(paddle.fft.rfft2(given, axes=None).numpy(), np.fft.rfftn(x))
    with pytest.raises(ValueError, match="sequence of 2 integers"):
        paddle.fft.fft2(given, axes=[0])
    assert str(paddle.fft.fftfreq(4, dtype="float64").dtype) == "paddle.float32"


def test_arange_adds_the_step_in_the_dtype():
    """Recorded from Paddle 2.6.2."""
    assert paddle.arange(1, 2, 0.3).numpy().tolist()[2:] == [
        float.fromhex("0x1.999998p+0"),
        float.fromhex("0x1.e66664p+0"),
    ]
    assert paddle.arange(0, 100, 0.7).numpy()[-1] == float.fromhex("0x1.8d997ep+6")
    assert paddle.arange(0, 10, 2.5, dtype="int64").tolist() == [0, 2, 4, 6, 8]
    assert paddle.arange(0, 0, 1.0).shape == [0]
    with pytest.raises(ValueError, match="step"):
        paddle.arange(3, 1, 1.0)
    assert paddle.arange(5, 0, -0.6).shape == [9]


def test_there_are_no_shifts():
    with pytest.raises(TypeError, match="unsupported operand type"):
        paddle.to_tensor([1]) << 1


def test_ufuncs_of_numpy_refuse_tensors():
    x = paddle.to_tensor([1.0, 4.0])
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.exp(x)
    assert isinstance(np.array([1.0, 2.0], "float32") + x, paddle.Tensor)
    np.testing.assert_allclose(np.sqrt(x.numpy()), x.sqrt())


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a + a, lambda a: a - a, lambda a: a * a, lambda a: a % 2, lambda a: a**2, lambda a: paddle.add(a, a),
        lambda a: paddle.multiply(a, a), lambda a: paddle.maximum(a, a), lambda a: a.max(), lambda a: paddle.matmul(a, a),
    ],
)  # fmt: skip
def test_integers_of_8_bits_have_few_kernels(call):
    """As on Paddle 2.6.2's CPU (recorded); with a number they are scaled."""
    small = paddle.to_tensor([1, 3], dtype="int8")
    with pytest.raises(RuntimeError, match="NotFound"):
        call(small)
    assert (small + 1).tolist() == [2, 4]
    assert (small // small).tolist() == [1, 1]
    assert str((small * 2).dtype) == "paddle.int8"
    bools = paddle.to_tensor([True, False])
    assert (-bools).tolist() == [True, False]
    assert (bools - 1).tolist() == [True, True]  # the number is cast to bool, and `-` of bools is "or"


@pytest.mark.parametrize(
    "call", [lambda i: i // 0, lambda i: i % i, lambda i: paddle.divide(i, i), lambda i: paddle.mod(i, i)]
)
def test_a_division_of_integers_by_zero(call):
    with pytest.raises(paddle.base.core.EnforceNotMet, match="Integer division by zero"):
        call(paddle.to_tensor([2, 0]))


def test_a_string_is_the_number_that_it_begins_with():
    """Paddle 2.6.2 (recorded); programs compare an argument that may be a tensor with a word."""
    x = paddle.to_tensor([0.0, 5.0])
    assert (x == "sum").tolist() == [True, False]
    assert (x != "5").tolist() == [True, False]
    assert (x + "2.5e1x").tolist() == [25.0, 30.0]
    assert (paddle.to_tensor([1]) + "1.9").tolist() == [2]


def test_stack_takes_a_list():
    """As recorded from Paddle 2.6.2."""
    with pytest.raises(ValueError, match="must be list of Tensors"):
        paddle.stack(paddle.ones([1, 3]), 0)
    assert paddle.stack([paddle.ones([1, 3])], 1).shape == [1, 1, 3]


def test_nll_loss_of_no_label_is_zero():
    """As recorded from Paddle 2.6.2; torch's mean is nan."""
    scores = paddle.to_tensor([[0.1, 0.2]], stop_gradient=False)
    loss = paddle.nn.functional.nll_loss(scores, paddle.to_tensor([-100]))
    loss.backward()
    assert loss.item() == 0.0
    assert scores.grad.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("data", [np.array([1, 16256], "uint16"), [np.uint16(1), np.uint16(16256)]])
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_numbers_of_uint16_are_the_bits_of_bfloat16(data, dtype):
    """As in Paddle 2.6.2 (recorded): 16256 are the bits of 1."""
    made = paddle.to_tensor(data, dtype=dtype)
    assert made.dtype == paddle.bfloat16
    assert made.numpy().tolist() == [1, 16256]
    assert made.astype("float32").tolist()[1] == 1


def test_the_length_of_an_array_of_tensors_is_a_number():
    array = paddle.tensor.array_write(paddle.ones([2]), paddle.to_tensor(0))
    assert type(paddle.tensor.array_length(array)) is int  # recorded, 2.6.2
    assert paddle.tensor.array_length(array) == 1
