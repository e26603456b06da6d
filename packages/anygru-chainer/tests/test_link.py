"""Links, chains and lists of links."""

import copy

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.rnn = L.NStepGRU(1, 2, 3, 0.0)
            self.out = L.Linear(None, 2)
            self.scale = chainer.Parameter(1, ())
        self.add_persistent("count", 0)


def test_parameters_come_sorted_and_own_ones_first():
    paths = [path for path, _ in Model().namedparams()]
    assert paths[0] == "/scale"
    assert paths[1:] == sorted(paths[1:])
    assert paths[-1] == "/rnn/0/w5"


def test_counting_names_what_is_not_initialized():
    with pytest.warns(UserWarning, match="'/out/W' has not been initialized"):
        assert Model().count_params() == 1 + 2 + 3 * (2 * 3 + 3 * 3 + 6)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.add_link("rnn", L.Linear(1, 1)), AttributeError),
        (lambda m: m.add_link("new", 3), TypeError),
        (lambda m: m.add_param("count", (1,)), AttributeError),
        (lambda m: m.register_persistent("absent"), AttributeError),
        (lambda m: m.copy(mode="deep"), ValueError),
        (lambda m: m.repeat(2, mode="deep"), ValueError),
        (lambda m: m.add_hook(print), TypeError),
        (lambda m: m.delete_hook("absent"), KeyError),
        (lambda m: m.rnn.remove(L.Linear(1, 1)), ValueError),
        (lambda m: m.to_gpu(), RuntimeError),
        (lambda m: m.to_chainerx(), RuntimeError),
    ],
)
def test_misuse_is_refused(call, error):
    if error is RuntimeError and chainer.backends.cuda.available:
        pytest.skip("there is a GPU")
    with pytest.raises(error):
        call(Model())


def test_a_link_without_super_init_raises():
    class Forgetful(chainer.Link):
        def __init__(self):
            with self.init_scope():
                self.w = chainer.Parameter(0, (1,))

    with pytest.raises(RuntimeError, match="Link.__init__\\(\\) has not been called"):
        Forgetful()


def test_the_three_ways_to_copy():
    linear = L.Linear(2, 2, initialW=0.5)
    linear.W.array[...] = 9
    shared, copied, fresh = (linear.copy(mode) for mode in ("share", "copy", "init"))
    shared.W.array[0, 0] = 1
    assert linear.W.array[0, 0] == 1
    assert shared.W.grad is None
    assert copied.W.array[0, 0] == 9
    assert (fresh.W.array == 0.5).all()


def test_copies_of_a_gru_use_their_own_parameters():
    gru = L.NStepGRU(2, 2, 3, 0.0)
    for other in (gru.copy(), gru.copy("copy"), copy.deepcopy(gru)):
        assert other.ws[1][3] is other[1].w3
        assert other.ws[1][3] is not gru[1].w3


def test_a_list_renames_its_links():
    links = chainer.ChainList(*[L.Linear(i + 1, 1) for i in range(4)])
    del links[0]
    links.insert(0, L.Linear(9, 1))
    assert [(link.name, link.in_size) for link in links] == [("0", 9), ("1", 2), ("2", 3), ("3", 4)]


def test_sequential_numbers_its_links_as_chainer_does():
    """Saved files contain the numbers: after the first link the newest comes first."""
    model = chainer.Sequential(L.Linear(1, 1), F.relu, L.Linear(2, 2), F.relu, L.Linear(3, 3))
    assert [(path, p.shape) for path, p in model.namedparams() if path.endswith("W")] == [
        ("/0/W", (1, 1)),
        ("/1/W", (3, 3)),
        ("/2/W", (2, 2)),
    ]


def test_hooks_see_the_link_that_they_are_added_to():
    log = []

    class Watch(chainer.LinkHook):
        name = "watch"

        def forward_preprocess(self, args):
            log.append((args.link.name, args.forward_name, len(args.args)))

    model = chainer.Sequential(L.Linear(2, 2), L.Linear(2, 2))
    model[0].add_hook(Watch())
    model(np.ones((1, 2), "f"))
    with pytest.raises(KeyError, match="watch"):
        model[0].add_hook(Watch())
    model[0].delete_hook("watch")
    model(np.ones((1, 2), "f"))
    assert log == [("0", "forward", 1)]


def test_hooks_are_kept_in_ordered_dicts():
    assert chainer.function.FunctionHook is chainer.FunctionHook
    assert repr(chainer.Link().local_link_hooks) == repr(chainer.get_function_hooks()) == "OrderedDict()"


def test_a_parameter_as_a_link_gives_a_new_variable():
    link = L.Parameter(np.array([1, 2], "f"))
    y = link()
    assert type(y) is chainer.Variable
    assert y.name is None
    link.cleargrads()
    F.sum(y * y).backward()
    np.testing.assert_array_equal(link.W.grad, [2, 4])


def test_deprecated_methods_warn():
    link = L.Linear(1, 1)
    with pytest.warns(DeprecationWarning, match="zerograd") as caught:
        link.zerograds()
    assert "Link.zerograds is deprecated" in str(caught[0].message)
    with pytest.warns(DeprecationWarning, match="to_device"):
        assert link.to_cpu() is link


@pytest.mark.parametrize(
    "name", ["LeCunNormal", "GlorotNormal", "HeNormal", "LeCunUniform", "GlorotUniform", "HeUniform"]
)
def test_initializers_scale_with_the_fans(name):
    variance = {"LeCun": 1 / 400, "Glorot": 2 / 600, "He": 2 / 400}
    array = np.empty((200, 400))
    np.random.seed(0)
    getattr(chainer.initializers, name)()(array)
    expected = variance[name.removesuffix("Normal").removesuffix("Uniform")] ** 0.5
    assert array.std() == pytest.approx(expected, rel=0.02)


def test_orthogonal_columns_have_the_asked_length():
    array = np.empty((5, 3))
    chainer.initializers.Orthogonal(scale=2.0)(array)
    np.testing.assert_allclose(array.T @ array, 4 * np.eye(3), atol=1e-12)


def test_weights_that_enlarge_and_shrink_pictures():
    """Linear interpolation, of each channel by itself; all values of one channel add up to 1 where it shrinks."""
    enlarging, shrinking = np.empty((2, 2, 3, 3), "f"), np.empty((2, 1, 4), "f")
    chainer.initializers.UpsamplingDeconvFilter()(enlarging)
    chainer.initializers.DownsamplingConvFilter()(shrinking)
    np.testing.assert_array_equal(enlarging[0, 0], np.outer([0.5, 1, 0.5], [0.5, 1, 0.5]))
    np.testing.assert_array_equal(enlarging[0, 1], np.zeros((3, 3)))
    np.testing.assert_array_equal(shrinking[:, 0], [[0.125, 0.375, 0.375, 0.125]] * 2)
    with pytest.raises(ValueError, match="ksize"):
        chainer.initializers.UpsamplingDeconvFilter()(np.empty((1, 1, 2, 3), "f"))
    with pytest.raises(ValueError, match="interpolation"):
        chainer.initializers.DownsamplingConvFilter("cubic")


def test_overridden_moves_are_called_by_the_parents():
    with pytest.warns(DeprecationWarning, match="Overriding method 'to_cpu'"):

        class Holder(L.Linear):
            moves = 0

            def to_cpu(self):
                with pytest.warns(DeprecationWarning, match="to_cpu is deprecated"):
                    super().to_cpu()
                self.moves += 1
                return self

    holder = Holder(1, 1)
    holder.to_cpu()
    chainer.Chain(holder=holder).to_device("@numpy")
    holder.to_device("@numpy")
    assert holder.moves == 3


def test_the_number_of_the_device_is_deprecated():
    with pytest.warns(DeprecationWarning, match="Use Link.device instead"):
        assert L.Linear(2, 1)._device_id is None


def test_a_call_from_another_base_class_comes_before_forward():
    class Calls:
        def __call__(self, x):
            return f"called with {x}"

    class Mixed(chainer.Link, Calls):
        def forward(self, x):
            raise AssertionError("not reached")

    assert Mixed()(3) == "called with 3"


@pytest.mark.parametrize("method", ["to_device", "to_chx", "from_chx"])
def test_methods_that_move_links_are_final(method):
    with pytest.raises(TypeError, match=method):
        type("Own", (chainer.Link,), {method: lambda self: None})


def test_a_parameter_of_an_older_pickle():
    """Of six values, without `grad_valid` (Chainer 7.8.1, recorded)."""
    given = np.ones(2, "f"), "w", np.zeros(2, "f"), None, "rule", chainer.get_device("@numpy")
    parameter = chainer.variable._recover_parameter(*given)
    assert (parameter.update_rule, parameter.grad.tolist(), parameter.name) == ("rule", [0, 0], "w")
    again = copy.deepcopy(chainer.Parameter(np.ones(2, "f"), name="w"))
    assert (again.array.tolist(), again.name) == ([1, 1], "w")


def test_the_hooks_of_links_are_where_chainer_chemistry_takes_them_from():
    hook = chainer.link_hooks.TimerHook()
    assert hook.table == chainer.function_hooks.TimerHook().table == {"sec": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    with hook:
        assert chainer._get_link_hooks() == {"TimerHook": hook}
    assert chainer._get_link_hooks() == {}


def test_parameters_of_integers_start_somewhere():
    """Chainer 7.8.1 also fills them with the cast of NaN (recorded)."""
    link = chainer.Link()
    link.add_param("count", (2,), dtype="i")
    assert link.count.dtype == np.int32
