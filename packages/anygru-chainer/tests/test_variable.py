"""Variables: memory shared with NumPy, gradients, cutting the graph, functions and hooks of users."""

import pickle

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer import Variable, chainerx, cupy
from anygru_chainer.utils.type_check import InvalidType, expect


def ones(*shape):
    return Variable(np.ones(shape))


def test_the_array_is_the_users_own():
    array = np.zeros((2, 3))
    x = Variable(array)
    assert x.array is array
    assert np.shares_memory(x.reshape(6).array, array)
    y = x * 1
    y.array[...] = 4
    assert not array.any()


@pytest.mark.parametrize(
    "array", [np.arange(6.0)[::-1], np.broadcast_to(np.float64(2), (3,)), np.arange(3, dtype=">f8")]
)
def test_arrays_that_torch_cannot_view_are_copied(array):
    np.testing.assert_array_equal((Variable(array) * 2).array, array * 2)


def test_gradients_add_up_until_they_are_cleared():
    x = ones(3)
    for _ in range(2):
        F.sum(x * x).backward()
    np.testing.assert_array_equal(x.grad, [4, 4, 4])
    x.cleargrad()
    assert x.grad is None


def test_gradients_of_a_scalar_add_up():
    scale, x = chainer.Parameter(3.0, ()), Variable(np.ones(2, "f"))
    scale.cleargrad()
    (F.sum(x * scale) * scale + scale).backward()  # 2 s^2 + s
    assert scale.grad == 13
    assert isinstance(scale.grad, np.ndarray)


def test_an_output_without_a_gradient_gives_none_to_its_input():
    x, y = ones(2), ones(1)
    first, _ = F.broadcast(x, y)
    gx, gy = chainer.grad([F.sum(first * first)], [x, y], enable_double_backprop=True)
    np.testing.assert_array_equal(gx.array, [2, 2])
    assert gy is None


def test_gradients_in_between_are_kept_on_demand_only():
    x = ones(3)
    h = x * 2
    loss = F.sum(h)
    loss.backward()
    assert h.grad is None
    assert loss.grad is None
    loss.backward(retain_grad=True)
    np.testing.assert_array_equal(h.grad, np.ones(3))


def test_leaves_never_share_the_memory_of_a_gradient():
    x, y = ones(3), ones(3)
    F.sum(x + y).backward()
    x.grad *= 2
    np.testing.assert_array_equal(y.grad, np.ones(3))
    assert x.grad.flags.writeable


def test_nothing_flows_past_a_cut():
    x = ones(3)
    middle = x * 2
    loss = F.sum(middle * x)
    middle.unchain_backward()
    loss.backward()
    np.testing.assert_array_equal(x.grad, [2, 2, 2])
    assert middle.creator is None


def test_no_graph_without_backprop():
    with chainer.no_backprop_mode():
        assert (ones(1) * 2).creator is None
        with chainer.force_backprop_mode():
            assert (ones(1) * 2).creator is not None


def test_a_vector_needs_a_gradient_to_start_from():
    with pytest.raises(TypeError, match="needs a gradient to start from"):
        (ones(3) * 2).backward()
    with pytest.warns(DeprecationWarning, match="Treating a variable with only one element as a scalar"):
        (ones(1) * 2).backward()


def test_gradients_can_be_differentiated():
    x = Variable(np.array([1.0, 2.0]))
    (gx,) = chainer.grad([x**3], [x], enable_double_backprop=True)
    (ggx,) = chainer.grad([gx], [x])
    np.testing.assert_allclose(ggx.array, 6 * x.array)


@pytest.mark.parametrize("sign", ["lt", "le", "eq", "ne", "gt", "ge"])
def test_comparisons_are_refused(sign):
    with pytest.raises(TypeError, match="do not support"):
        getattr(ones(1), f"__{sign}__")(1)
    with pytest.raises(TypeError, match="bool"):
        bool(ones(1))


@pytest.mark.parametrize(
    ("gradient", "error"), [(np.ones(2), ValueError), (np.ones(3, "f"), TypeError), ([1, 1, 1], TypeError)]
)
def test_a_gradient_must_fit(gradient, error):
    with pytest.raises(error, match="grad"):
        ones(3).grad = gradient


def test_an_uninitialized_parameter_raises():
    p = chainer.Parameter()
    with pytest.raises(RuntimeError, match="cleargrad"):
        _ = p.grad
    p.initialize((2,))
    assert np.isnan(p.array).all()
    assert np.isnan(p.grad).all()


def test_variables_survive_pickling():
    x = pickle.loads(pickle.dumps(Variable(np.arange(3.0), name="x", grad=np.ones(3))))
    assert (x.name, x.array.tolist(), x.grad.tolist()) == ("x", [0, 1, 2], [1, 1, 1])


class MulAdd(chainer.FunctionNode):
    """a * b + c with an own backward."""

    def check_type_forward(self, in_types):
        expect(in_types.size() == 3, in_types[0].shape == in_types[1].shape)

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        a, b, c = inputs
        return (a * b + c,)

    def backward(self, target_input_indexes, grad_outputs):
        a, b = self.get_retained_inputs()
        (gy,) = grad_outputs
        return gy * b, gy * a, gy


def test_functions_of_users_take_part_in_the_graph():
    a, b, c = (Variable(np.random.RandomState(i).randn(3)) for i in range(3))
    chainer.gradient_check.check_backward(lambda *xs: MulAdd().apply(xs)[0], (a.array, b.array, c.array), np.ones(3))
    (ga,) = chainer.grad([MulAdd().apply((a, a, c))[0]], [a], enable_double_backprop=True)
    F.sum(ga).backward()
    np.testing.assert_allclose(a.grad, [2, 2, 2])
    with pytest.raises(InvalidType, match=r"Expect: in_types.size == 3\nActual: 2 != 3"):
        MulAdd().apply((a, b))


class Doubled(chainer.Function):
    """The old style."""

    def forward_cpu(self, inputs):
        return (inputs[0] * 2,)

    def backward_cpu(self, inputs, grad_outputs):
        return (grad_outputs[0] * 2,)


def test_functions_in_the_old_style_work_once():
    x = ones(3)
    F.sum(Doubled()(x)).backward()
    np.testing.assert_array_equal(x.grad, [2, 2, 2])


@pytest.mark.parametrize(
    ("results", "error", "words"),
    [((1, 2, 3), ValueError, "number of gradients"), ((np.ones(3),), TypeError, "must return Variables")],
)
def test_a_wrong_backward_is_named(results, error, words):
    class Wrong(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0].copy(),)

        def backward(self, target_input_indexes, grad_outputs):
            return results

    with pytest.raises(error, match=words):
        F.sum(Wrong().apply((ones(3),))[0]).backward()


def test_function_hooks_see_forward_and_backward():
    log = []

    class Watch(chainer.FunctionHook):
        def forward_preprocess(self, function, in_data):
            log.append(function.label)

        def backward_postprocess(self, function, in_data, out_grad):
            log.append(f"{function.label} back")

    with Watch():
        F.sum(F.tanh(ones(2))).backward()
    assert log == ["Tanh", "Sum", "Sum back", "Tanh back"]


def test_hooks_get_the_inputs_of_a_backward_step():
    seen = {}

    class Watch(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            seen[function.label] = in_data

    x, w = ones(2, 3), ones(4, 3)
    y = F.sum(F.exp(F.linear(x, w)))
    with Watch():
        y.backward()
    assert seen["LinearFunction"][0] is x.array  # as in Chainer 7.8.1 (recorded)
    assert seen["LinearFunction"][1] is w.array
    np.testing.assert_array_equal(seen["exp"], np.full((1, 2, 4), 3.0))


def test_debug_mode_finds_nan():
    with pytest.warns(DeprecationWarning, match="DebugMode is deprecated"):
        old_style = chainer.DebugMode(True)
    for block in (chainer.using_config("debug", True), old_style):
        with block, pytest.raises(RuntimeError, match="NaN is detected on forward"):
            F.log(Variable(np.array([-1.0])))
    assert not chainer.is_debug()


def test_a_gpu_is_asked_for_in_vain():
    if chainer.backends.cuda.available:
        pytest.skip("there is one")
    with pytest.raises(RuntimeError, match="CUDA environment is not correctly set up"):
        ones(1).to_gpu()
    with pytest.raises(RuntimeError, match="CUDA environment is not correctly set up"):
        chainer.get_device(0)


def test_ideep_is_never_there():
    assert not chainer.backends.intel64.is_ideep_available()
    assert not chainer.backends.intel64.should_use_ideep(">=auto")
    with pytest.raises(RuntimeError, match="iDeep is not available"):
        chainer.backends.intel64.check_ideep_available()
    with pytest.raises(RuntimeError, match="iDeep is not available"):
        chainer.Variable(np.zeros(1)).to_intel64()


def test_chainerx_is_never_there():
    assert not chainerx.is_available()
    assert chainer.get_device("@numpy").xp is not chainerx
    assert not isinstance(np.ones(1), chainerx.ndarray)
    with pytest.raises(RuntimeError, match="ChainerX is not available"):
        chainer.backend.ChainerxDevice("native:0")


def test_modules_with_cuda_source_are_imported_without_a_device():
    from anygru_chainer.cupy.cuda import Device, compiler, function

    assert Device is chainer.backends.cuda.Device
    assert hasattr(compiler, "compile_using_nvrtc")
    with pytest.raises(NotImplementedError, match="CUDA source"):
        function.Module()
    with pytest.raises(ImportError):  # programs import it in a `try`, to find out whether there is NCCL
        from anygru_chainer.cupy.cuda import nccl  # noqa: F401


def test_cupy_is_imported_without_a_device():
    assert isinstance(cupy.is_available(), bool)
    assert not isinstance(np.ones(1), cupy.ndarray)
    assert cupy.get_array_module(np.ones(1)) is np
    if not cupy.is_available():
        for call in (lambda: cupy.zeros(3), lambda: cupy.cuda.Device(0), cupy.cuda.runtime.getDeviceCount):
            with pytest.raises(RuntimeError, match="no CUDA device"):
                call()
    assert issubclass(cupy.cuda.runtime.CUDARuntimeError, RuntimeError)
    assert cupy.fuse()(abs) is abs
    kernel = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x", "copy")  # modules do so when they are imported
    with pytest.raises((RuntimeError, NotImplementedError), match="no CUDA device|CUDA source"):
        kernel(np.ones(1, np.float32))


def ragged():
    parts = np.empty(3, object)
    parts[:] = [np.array([1, 2], "i"), np.array([3], "i"), np.array([4, 5, 6], "i")]
    return parts


def test_an_array_of_objects_gives_its_parts():
    x = chainer.Variable(ragged())
    assert [(str(part.dtype), part.shape) for part in x] == [("int32", (2,)), ("int32", (1,)), ("int32", (3,))]
    assert [L.EmbedID(7, 2)(part).shape for part in x] == [(2, 2), (1, 2), (3, 2)]
    y = chainer.Variable(np.array(["a", "b"]))[1]
    assert (y.shape, y.array.tolist()) == ((), "b")


@pytest.mark.parametrize(
    "move",
    [
        lambda F, x: x[1:],
        lambda F, x: x[np.array([True, False, True])],
        lambda F, x: F.reshape(x, (3, 1)),
        lambda F, x: F.transpose(F.stack([x, x], 1)),
        lambda F, x: F.concat([x, x[:2]], 0),
        lambda F, x: F.split_axis(x, [1], 0)[1],
        lambda F, x: F.broadcast_to(x, (2, 3)),
        lambda F, x: F.tile(F.flip(x, 0), 2),
        lambda F, x: F.repeat(x, 2, 0),
        lambda F, x: F.where(np.array([True, False, True]), x, F.flip(x, 0)),
        lambda F, x: F.permutate(x, np.array([2, 0, 1])),
        lambda F, x: F.cast(x, "i"),
        lambda F, x: -(x + 1 - x * 2),
    ],
)
def test_functions_that_move_elements_take_arrays_of_objects(move):
    """The same function of numbers, which count the objects, gives the order of the objects."""
    numbers = np.arange(3)
    objects = np.array([0, 1, 2], object)
    expected, found = move(F, chainer.Variable(numbers)), move(F, chainer.Variable(objects))
    assert found.array.tolist() == expected.array.tolist()
    assert found.shape == expected.shape


def test_functions_that_compute_refuse_arrays_of_objects():
    with pytest.raises(InvalidType):
        F.exp(np.array([1.5], object))
    with pytest.raises(TypeError, match=r"PadSequence: .*object"):
        F.pad_sequence([ragged()])


def test_zerograd_writes_into_the_gradients_memory():
    """Chainer 7.8.1, recorded."""
    link = L.Linear(2, 2)
    link.W.grad = held = np.ones((2, 2), "f")
    with pytest.warns(DeprecationWarning, match="zerograd"):
        link.zerograds()
    assert link.W.grad is held
    assert not held.any()
    x = chainer.Variable(np.ones(2, "f"))
    F.sum(x * x).backward(enable_double_backprop=True)
    gradient = x.grad_var
    with pytest.warns(DeprecationWarning, match="zerograd"):
        x.zerograd()
    assert x.grad_var is gradient
    assert gradient.creator is None
    assert not gradient.array.any()


def test_forget_gives_gradients_to_variables_of_its_closure():
    """Chainer 7.8.1, recorded: Variables used both inside and outside, and computed Variables."""
    w, x = chainer.Variable(np.array([2, 3], "f")), chainer.Variable(np.array([1, 4], "f"))
    F.sum(F.forget(lambda x: x * w, x) * w).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([4, 9], [2, 12])
    w.cleargrad()
    doubled = w * 2
    F.sum(F.forget(lambda x: x * doubled, x)).backward()
    assert w.grad.tolist() == [2, 8]
